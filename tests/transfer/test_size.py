"""However large an agent is, moving it takes the same memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from uuid_utils.compat import uuid7

from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from engram.transfer.exporting import repository as reading
from engram.transfer.exporting.service import Wanted as WantedOut
from engram.transfer.importing import service as importing
from engram.transfer.importing.making import Wanted as WantedIn
from engram.transfer.lines import Summary, as_line
from engram.transfer.schemas import RECORDS
from tests.fixtures.spaces import new_space

from .files import Record

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


async def test_memory_does_not_grow_with_the_agent(unlinked: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH_LINES", 100)
    monkeypatch.setattr(reading, "PAGE", 100)
    model = await _first_lines(unlinked)
    await _moved(unlinked, model, 300)  # what is loaded and remembered once
    small, large = await _moved(unlinked, model, 500), await _moved(unlinked, model, 4000)
    assert large < 1.5 * small, (small, large)


async def _first_lines(services: Services) -> tuple[Record, Record]:
    """A header, and a memory to make others of."""
    space = await new_space(services)
    await space.remember("one of many " + "and of some length " * 20)
    pieces = [piece async for piece in services.exports.export(DEFAULT_SCOPE, space.agent_id, WantedOut())]
    header, memory, *_ = (json.loads(line) for line in b"".join(pieces).splitlines())
    return header, memory


async def _moved(services: Services, model: tuple[Record, Record], count: int) -> int:
    """Bytes that importing and exporting so many memories took at their peak."""
    tracemalloc.start()
    try:
        wanted = WantedIn(name=f"{count} memories")
        made = await services.imports.take(DEFAULT_SCOPE, _file(*model, count), wanted, _agreed)
        lines = 0
        async for piece in services.exports.export(DEFAULT_SCOPE, made.id, WantedOut()):
            lines += piece.count(b"\n")
        assert lines == count + 2
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def _file(header: Record, memory: Record, count: int) -> AsyncIterator[bytes]:
    counts = {**dict.fromkeys(RECORDS, 0), "memory": count}
    summary = Summary()
    for number in range(count + 1):
        # Of few words: what is remembered of words is bounded, and not what is measured.
        text = {"id": str(uuid7()), "content": f"{memory['content']} {number % 50}", "twin": None, "owed": []}
        record = {**header, "counts": counts} if not number else {**memory, **text}
        record |= {"valid_from": (BEGIN + timedelta(minutes=number)).isoformat()} if number else {}
        line = as_line(record)
        summary.add(line, "")
        yield line
    yield as_line({"type": "footer", "lines": summary.lines, "counts": counts, "sha256": summary.sha256})


async def _agreed() -> None:
    pass
