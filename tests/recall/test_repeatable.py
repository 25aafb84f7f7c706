"""Recall only reads, and the same question has the same answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.recall.schemas import RecallResponse
from engram.services import Services
from tests.fixtures.rows import every_row
from tests.recall.test_formula import build, examples
from tests.recall.worlds import PlannedWorld, Request, planned_worlds, requests

any_request = requests(hops=st.integers(0, 5), lexical=True)


@given(plan=planned_worlds(most=25), asked=any_request)
@examples(20)
async def test_the_same_question_has_the_same_answer_and_changes_nothing(
    services: Services, plan: PlannedWorld, asked: Request
) -> None:
    world = await build(services, plan, exact=False)
    sent = asked.sent(world.space, exact=False, explain=True)
    before = await every_row(services.database)
    first, second = await world.space.ask(**sent), await world.space.ask(**sent)
    assert bytes_of(first) == bytes_of(second)
    assert await every_row(services.database) == before


def bytes_of(answer: RecallResponse) -> bytes:
    return answer.model_copy(update={"took_ms": 0.0}).model_dump_json().encode()
