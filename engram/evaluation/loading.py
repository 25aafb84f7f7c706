"""Writing a set into Engram through the SDK: each bank becomes an agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from engram.client import AsyncEngram
from engram.evaluation.extraction import Extraction, extracted
from engram.evaluation.questions import QuestionSet
from engram.evaluation.records import ExtractionRecord, MemoryRecord
from engram.evaluation.results import Loaded
from engram.graph.schemas import RelationType
from engram.memories.schemas import MAX_BATCH

# A server takes 32 MiB in one call, and JSON may need six bytes for a character.
_BATCH_CHARS = 4 * 1024 * 1024

_NAME_CHARS = 256


class Titles(StrEnum):
    """What a memory declares as the subject that it is about."""

    meta = "meta"
    first_line = "first-line"
    none = "none"


def title_of(record: MemoryRecord, titles: Titles) -> str | None:
    """The title to declare, cut to the length of a name; None where there is none."""
    match titles:
        case Titles.meta:
            title = record.meta.title if record.meta else None
        case Titles.first_line:
            title = record.text.strip().partition("\n")[0]
        case Titles.none:
            title = None
    return (title or "").strip()[:_NAME_CHARS].strip() or None


def item_of(
    record: MemoryRecord,
    titles: Titles,
    extraction: Extraction = Extraction.none,
    found: ExtractionRecord | None = None,
) -> dict[str, Any]:
    """The memory to be written, with that part of what was ``found`` in it. Its id is metadata, which nothing
    searches."""
    title = title_of(record, titles)
    subject = [{"name": title, "role": "subject"}] if title else []
    declared = subject + [entity.model_dump() for entity in record.entities]
    more = extracted(found, extraction, declared=len(declared))
    return {
        "content": record.text,
        "session_id": record.session,
        "valid_from": record.ts,
        "metadata": {"id": record.id},
        "entities": declared + more["entities"],
        "relations": more["relations"],
    }


async def load(
    client: AsyncEngram,
    questions: QuestionSet,
    titles: Titles,
    language: str,
    extraction: Extraction,
    progress: Callable[[int], object],
) -> tuple[Mapping[str, str], Loaded]:
    """Write all banks; the agents' ids by bank, and what came of it. Raises what the SDK raises."""
    agents: dict[str, str] = {}
    linked, written, titled = True, 0, 0
    started = time.perf_counter()
    for bank, records in questions.banks.items():
        # A bank may have a name that no agent can have.
        agent = await client.agents.create(f"bank {len(agents)}", language=language)
        agents[bank] = str(agent.id)
        titled += sum(title_of(record, titles) is not None for record in records)
        for batch in _batches(records):
            items = [item_of(one, titles, extraction, questions.extractions.get((bank, one.id))) for one in batch]
            result = await client.memories.create_many(agent.id, items)
            linked &= result.linked
            written += len(batch)
            progress(written)
    seconds = time.perf_counter() - started
    stats = [await client.agents.stats(id) for id in agents.values()]
    edges = {
        RelationType.temporal: questions.has_neighbours,
        RelationType.thematic: any(one.edges for one in stats),
        RelationType.entity_link: any(one.entities for one in stats),
    }
    return agents, Loaded(seconds=seconds, titles=titled, linked=linked, edges=edges)


def _batches(records: Sequence[MemoryRecord]) -> Iterator[list[MemoryRecord]]:
    batch: list[MemoryRecord] = []
    chars = 0
    for record in records:
        if batch and (len(batch) == MAX_BATCH or chars + len(record.text) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(record)
        chars += len(record.text)
    yield batch
