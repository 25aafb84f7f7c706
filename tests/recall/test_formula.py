"""Recall against a brute force of its formula, on random agents and random requests."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.recall.schemas import RecallHit, RecallResponse
from engram.services import Services
from tests.fixtures.spaces import new_space
from tests.recall.oracle import Oracle, Score
from tests.recall.worlds import PlannedWorld, Request, World, planned_worlds, requests, written

# Paths are counted by the factorial: few memories where there are many hops.
near = st.integers(0, 2)
far = st.integers(3, 5)


def examples(number: int) -> Any:
    return settings(
        max_examples=number,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


async def build(services: Services, plan: PlannedWorld, *, exact: bool) -> World:
    return await written(await new_space(services, language="none"), plan, exact=exact)


async def check(world: World, request: Request, *, exact: bool, **changes: Any) -> None:
    """One request: the answer is the formula's, in its numbers and in its order."""
    sent = request.sent(world.space, exact=exact, **changes)
    answer = await world.space.ask(**sent)
    expected = Oracle(world.notes, world.links, request.asked(sent)).scores()
    assert {hit.id for hit in answer.results} == set(expected)
    tolerance = 1e-9 if exact and not sent["lexical"] else 1e-6
    for hit in answer.results:
        assert_close(hit, expected[hit.id], tolerance, truncated=answer.truncated)
    assert_ordered(answer)


def assert_close(hit: RecallHit, expected: Score, tolerance: float, *, truncated: bool) -> None:
    assert math.isclose(hit.vector_score, expected.vector, abs_tol=tolerance)
    assert math.isclose(hit.lexical_score, expected.lexical, abs_tol=tolerance)
    if truncated:
        # A walk that was cut short saw fewer paths, never better ones.
        assert hit.graph_score <= expected.graph + tolerance
        return
    assert math.isclose(hit.graph_score, expected.graph, abs_tol=tolerance)
    assert math.isclose(hit.score, expected.score, abs_tol=tolerance)


def assert_ordered(answer: RecallResponse) -> None:
    places = [(-hit.score, UUID(hit.id)) for hit in answer.results]
    assert places == sorted(places)


@given(plan=planned_worlds(most=25), asked=st.lists(requests(hops=near, lexical=False), min_size=2, max_size=4))
@examples(80)
async def test_without_words_it_is_the_formula_to_the_letter(
    shared_services: Services, plan: PlannedWorld, asked: list[Request]
) -> None:
    world = await build(shared_services, plan, exact=True)
    for request in asked:
        await check(world, request, exact=True)


@given(plan=planned_worlds(most=7), asked=st.lists(requests(hops=far, lexical=False), min_size=2, max_size=4))
@examples(50)
async def test_long_walks_are_the_formula_to_the_letter(
    shared_services: Services, plan: PlannedWorld, asked: list[Request]
) -> None:
    world = await build(shared_services, plan, exact=True)
    for request in asked:
        await check(world, request, exact=True)


@given(plan=planned_worlds(most=25), asked=st.lists(requests(hops=near, lexical=False), min_size=2, max_size=3))
@examples(40)
async def test_vectors_of_any_numbers_are_no_exception(
    shared_services: Services, plan: PlannedWorld, asked: list[Request]
) -> None:
    world = await build(shared_services, plan, exact=False)
    for request in asked:
        await check(world, request, exact=False)


@given(plan=planned_worlds(most=25), asked=st.lists(requests(hops=near, lexical=True), min_size=2, max_size=4))
@examples(60)
async def test_with_words_bm25_joins_in(shared_services: Services, plan: PlannedWorld, asked: list[Request]) -> None:
    world = await build(shared_services, plan, exact=True)
    for request in asked:
        await check(world, request, exact=True)


@given(plan=planned_worlds(most=20), asked=requests(hops=st.integers(0, 5), lexical=True))
@examples(40)
async def test_at_its_ends_the_blend_ranks_by_one_leg_alone(
    shared_services: Services, plan: PlannedWorld, asked: Request
) -> None:
    world = await build(shared_services, plan, exact=True)

    async def answered(graph_weight: float) -> list[RecallHit]:
        return (await world.space.ask(**asked.sent(world.space, exact=True, graph_weight=graph_weight))).results

    by_cosine, by_graph = await answered(0.0), await answered(1.0)
    assert all(hit.score == hit.vector_score for hit in by_cosine)
    assert all(hit.score == hit.graph_score for hit in by_graph)
    # The legs do not depend on how they are blended: either answer can be ranked from the other.
    assert [hit.id for hit in by_cosine] == ranked_by("vector_score", by_graph)
    assert [hit.id for hit in by_graph] == ranked_by("graph_score", by_cosine)


def ranked_by(leg: str, hits: list[RecallHit]) -> list[str]:
    return [hit.id for hit in sorted(hits, key=lambda hit: (-hit[leg], UUID(hit.id)))]


@given(plan=planned_worlds(most=20), asked=requests(hops=st.integers(0, 5), lexical=True), top_k=st.integers(1, 20))
@examples(40)
async def test_a_shorter_answer_is_the_beginning_of_a_longer_one(
    shared_services: Services, plan: PlannedWorld, asked: Request, top_k: int
) -> None:
    world = await build(shared_services, plan, exact=True)
    everything = await world.space.ask(**asked.sent(world.space, exact=True))
    least = everything.results[len(everything.results) // 2].score if everything.results else 0.0
    first = await world.space.ask(**asked.sent(world.space, exact=True, top_k=top_k))
    good = await world.space.ask(**asked.sent(world.space, exact=True, min_score=least))
    assert first.results == everything.results[:top_k]
    assert good.results == [hit for hit in everything.results if hit.score >= least]
