"""Asking Engram a set's questions through the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from engram.client import AsyncEngram
from engram.evaluation.questions import Question
from engram.evaluation.results import Answers
from engram.evaluation.variants import Variant


async def ask(
    client: AsyncEngram,
    agents: Mapping[str, str],
    questions: Sequence[Question],
    variant: Variant,
    *,
    top_k: int,
    at_once: int,
    progress: Callable[[int], object],
) -> Answers:
    """What each question finds; ``at_once`` questions are under way together. Raises what the SDK raises."""
    waiting = iter(questions)
    answers: dict[str, tuple[list[str], float]] = {}

    async def work() -> None:
        # One iterator for all: each takes the next question when it is done with one.
        for question in waiting:
            found = await client.memories.recall(agents[question.bank], question.query, top_k=top_k, **variant.request)
            answers[question.id] = [str(hit.metadata["id"]) for hit in found.results], found.took_ms
            progress(len(answers))

    workers = [asyncio.create_task(work()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    return Answers(
        rankings={question.id: answers[question.id][0] for question in questions},
        took_ms=[answers[question.id][1] for question in questions],
    )
