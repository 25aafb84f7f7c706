"""Small sets in folders of their own, and the command that measures on them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import _own_logs, run

__all__ = ["_own_logs", "run"]

Record = dict[str, Any]
MakeSet = Callable[..., Path]


def write_set(
    folder: Path,
    memories: Iterable[Record | str],
    queries: Iterable[Record | str],
    openie: Iterable[Record | str] | None = None,
    *,
    zipped: bool = False,
) -> Path:
    """A set of these lines; those that are text are written as they are."""
    folder.mkdir(exist_ok=True)
    files = {"memories": memories, "queries": queries, **({"openie": openie} if openie is not None else {})}
    for name, records in files.items():
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        content = "".join(f"{line}\n" for line in lines).encode()
        if zipped:
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(content))
        else:
            (folder / f"{name}.jsonl").write_bytes(content)
    return folder


def memory(id: str, text: str, **fields: Any) -> Record:
    return {"id": id, "ns": "b", "text": text, **fields}


def question(id: str, query: str, gold: list[str], **fields: Any) -> Record:
    return {"id": id, "ns": "b", "query": query, "gold": gold, **fields}


ZOO = [
    memory("first", "A zebra grazes by the river.", ts="2024-05-01T10:00:00", meta={"session": "s"}),
    memory("second", "Somebody repaired the old clock.", ts="2024-05-01T10:01:00", meta={"session": "s"}),
    memory("third", "Bread was cheap that year.", ts="2024-05-01T10:02:00", meta={"session": "t"}),
    memory("fourth", "Otters sleep holding hands.", ts="2024-05-01T10:03:00", meta={"session": "t"}),
]
QUESTIONS = [
    question("q1", "zebra", ["first", "fourth"], type="pair"),
    question("q2", "otters", ["fourth"], type="single"),
    question("q3", "clock", ["second"], type="single"),
    question("q4", "clock", ["third"], type="adversarial"),
    question("q5", "nothing", []),
]
"""By words alone, q1 finds first, second, third, fourth: what shares no word comes in the order written."""


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    return write_set(tmp_path / "zoo", ZOO, QUESTIONS)
