"""What an answer says of itself: parts that add up, chains that exist, numbers that are scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engram.graph.schemas import Direction, Edge, PathStep
from engram.recall.schemas import RecallHit
from engram.services import Services
from tests.fixtures.spaces import Space
from tests.recall.test_formula import build, examples
from tests.recall.worlds import PlannedWorld, Request, planned_worlds, requests

any_request = requests(hops=st.integers(0, 5), lexical=True) | requests(hops=st.integers(0, 5), lexical=False)


@given(plan=planned_worlds(most=15), asked=any_request)
@examples(60)
async def test_parts_add_up_and_chains_exist(shared_services: Services, plan: PlannedWorld, asked: Request) -> None:
    world = await build(shared_services, plan, exact=False)
    sent = asked.sent(world.space, exact=False, explain=True)
    answer = await world.space.ask(**sent)
    hits = {hit.id: hit for hit in answer.results}
    # Nothing is cut off, so every memory on a chain is itself a hit: a chain leads only over what may be seen.
    chains = Chains(world.space, sent.get("as_of"), sent["hop_penalty"], hits)
    for hit in answer.results:
        check_numbers(hit, sent["graph_weight"])
        assert hit.hops == max(len(hit.path) - 1, 0) <= sent["max_hops"]
        if hit.path:
            assert hit.path[-1].memory_id == hit.id
            assert math.isclose(await chains.score(hit.path), hit.graph_score, rel_tol=1e-9)
            assert hit.explain is not None
            assert hit.explain.anchor_score == source_score(hits[hit.path[0].memory_id])
        else:
            assert hit.graph_score == hit.lexical_score
        await check_alternatives(hit, chains)
    check_ranks(answer.results)


async def test_runner_up_chains_are_shown(space: Space) -> None:
    """Two lead to the same memory: the better is the path, the other its alternative."""
    texts = {"better": space.vector(1), "weaker": space.vector(0, 1), "end": space.vector(0, 0, 1)}
    better, weaker, end = [(await space.remember(text, embedding=vector)).id for text, vector in texts.items()]
    await space.link(better, end, "causal")
    await space.link(weaker, end, "supports", weight=0.5)
    hit = (await space.hits(embedding=space.vector(0.8, 0.6), lexical=False, explain=True))[end]
    assert [step.memory_id for step in hit.path] == [better, end]
    assert hit.explain is not None
    (alternative,) = hit.explain.alternatives
    assert [step.memory_id for step in alternative.path] == [weaker, end]
    assert math.isclose(alternative.score, 0.6 * 0.95 * 0.5 * 0.96, abs_tol=1e-6)
    # Without being asked, an answer does not explain itself.
    assert (await space.hits(embedding=space.vector(1)))[end].explain is None


def check_numbers(hit: RecallHit, graph_weight: float) -> None:
    assert hit.explain is not None
    scores = [hit.score, hit.vector_score, hit.lexical_score, hit.graph_score]
    parts = [hit.explain.vector_part, hit.explain.graph_part]
    assert all(math.isfinite(number) and 0 <= number <= 1 for number in [*scores, *parts])
    assert math.isclose(sum(parts), hit.score, abs_tol=1e-6)
    assert math.isclose(hit.explain.vector_part, (1 - graph_weight) * hit.vector_score, abs_tol=1e-12)
    assert math.isclose(hit.explain.graph_part, graph_weight * hit.graph_score, abs_tol=1e-12)


async def check_alternatives(hit: RecallHit, chains: Chains) -> None:
    assert hit.explain is not None
    known = [hit.path]
    for alternative in hit.explain.alternatives:
        assert alternative.path not in known
        known.append(alternative.path)
        assert alternative.path[-1].memory_id == hit.id
        assert 0 < alternative.score <= hit.graph_score
        assert math.isclose(await chains.score(alternative.path), alternative.score, rel_tol=1e-9)


def check_ranks(hits: Sequence[RecallHit]) -> None:
    """Each leg's ranks are those of its scores; a leg that gives a memory nothing does not rank it."""
    for leg in ("vector", "lexical", "graph"):
        order = sorted(hits, key=lambda hit: (-hit[f"{leg}_score"], hit.id))
        expected = {hit.id: place for place, hit in enumerate(order, 1) if hit[f"{leg}_score"] > 0}
        assert {hit.id: hit["explain"][f"{leg}_rank"] for hit in hits} == {hit.id: expected.get(hit.id) for hit in hits}


def source_score(hit: RecallHit) -> float:
    return max(hit.vector_score, hit.lexical_score)


class Chains:
    """Follows a chain over the edges that the graph shows, and says what it is worth."""

    def __init__(self, space: Space, as_of: datetime | None, hop_penalty: float, hits: dict[str, RecallHit]) -> None:
        self._space = space
        self._as_of = as_of
        self._kept = 1 - hop_penalty
        self._hits = hits
        self._edges: dict[str, list[Edge]] = {}

    async def score(self, path: Sequence[PathStep]) -> float:
        start = path[0]
        assert (start.relation_type, start.direction, start.weight, start.multiplier) == (None, None, None, None)
        visited = [step.memory_id for step in path]
        assert len(set(visited)) == len(visited) > 1
        score = source_score(self._hits[start.memory_id])
        for before, step in pairwise(path):
            assert step.memory_id in self._hits
            assert step in await self._steps_from(before.memory_id)
            assert step.weight is not None
            assert step.multiplier is not None
            score *= self._kept * step.weight * step.multiplier
        return score

    async def _steps_from(self, memory_id: str) -> list[PathStep]:
        if memory_id not in self._edges:
            self._edges[memory_id] = await self._space.edges(memory_id, as_of=self._as_of, direction=Direction.both)
        return [
            PathStep(
                memory_id=edge.target_memory_id,
                relation_type=edge.relation_type,
                direction=edge.direction,
                weight=edge.weight,
                multiplier=edge.decay_multiplier,
                entity=edge.entity,
            )
            for edge in self._edges[memory_id]
        ]
