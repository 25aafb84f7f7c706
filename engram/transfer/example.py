"""The shortest export: of an agent that remembers nothing. Pure."""

from __future__ import annotations

from engram.transfer.lines import Summary, as_line
from engram.transfer.schemas import FORMAT, FORMAT_VERSION, RECORDS

_DAY = "2026-05-01T12:00:00Z"
_COUNTS = dict.fromkeys(RECORDS, 0)


def _empty_export() -> str:
    agent = {"id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "newcomer", "language": "english", "metadata": {}}
    header = as_line(
        {
            "type": "header",
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "exported_at": _DAY,
            "agent": {**agent, "created_at": _DAY, "updated_at": _DAY},
            "model": {"provider": "static", "name": "l2_supercat_256", "dimension": 256},
            "options": {"embeddings": False, "history": True, "as_of": None, "known_at": None},
            "counts": _COUNTS,
        }
    )
    summary = Summary()
    summary.add(header, "header")
    footer = as_line({"type": "footer", "lines": summary.lines, "counts": _COUNTS, "sha256": summary.sha256})
    return (header + footer).decode()


EMPTY_EXPORT = _empty_export()
