"""What held on a day, asked over HTTP of facts with the time in which they held: each answer must be exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.facts.client import served
from benchmarks.facts.sets import dated_facts, questions
from benchmarks.figures import Figure, Sheet, Size, at_least
from benchmarks.store import Stores
from benchmarks.timing import Times


async def measure(stores: Stores, folder: Path, said: Callable[[str], None]) -> list[Figure]:
    dated = dated_facts(folder)
    asked = questions(folder / "asof_queries.jsonl.gz")
    sheet = Sheet("facts-asof", size := Size(facts=len(dated.items)))
    sheet.add("facts left out, which end before they begin", dated.inverted, "facts")
    sheet.add("facts left out, of which no day is known", dated.undated, "facts")
    exact, times = 0, Times()
    async with stores.fresh(size) as store, served(store, "as of") as client:
        rate = await client.load(dated.items)
        sheet.add("loaded over HTTP, batches of 1,000", rate, "facts/s", better="higher")
        for one in asked:
            facts = await times.of(
                client.facts(subject=one["subject"], predicate=one["relation"], valid_at=one["as_of"])
            )
            right = sorted({fact["object"] for fact in facts}) == sorted(one["gold"])
            exact += right
            if not right:
                said(f"{one['subject']} {one['relation']} {one['as_of']}: {[fact['object'] for fact in facts]}")
    beside = ("questions", float(len(asked)))
    sheet.add("answered exactly", exact, "questions", better="higher", beside=beside, target=at_least(1.0))
    sheet.latency("a question through HTTP, all pages", times)
    return sheet.figures
