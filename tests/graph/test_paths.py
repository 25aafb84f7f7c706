"""The search for the best paths, against all simple paths of small graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.graph import paths
from engram.graph.paths import FoundPath, PathSearch, Steps
from engram.graph.surroundings import Step

NODES = [UUID(int=number) for number in range(7)]
SHARES = [1.0, 0.5, 0.5, 0.25, 0.3, 0.9]


@st.composite
def graphs(draw: st.DrawFn) -> dict[UUID, dict[UUID, Step]]:
    pairs = st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(SHARES))
    steps: dict[UUID, dict[UUID, Step]] = {}
    for source, target, share in draw(st.lists(pairs, max_size=30)):
        if source != target:
            steps.setdefault(source, {})[target] = Step("causal", "out", share, 0.97)
    return steps


def simple_paths(
    steps: Steps, path: Sequence[UUID], strength: float, target: UUID, max_hops: int, keep: float
) -> Iterator[FoundPath]:
    if path[-1] == target:
        yield FoundPath(strength, tuple(path))
    elif len(path) <= max_hops:
        for id, step in steps.get(path[-1], {}).items():
            if id not in path:
                yield from simple_paths(steps, [*path, id], strength * (keep * step.share), target, max_hops, keep)


@settings(max_examples=300)
@given(steps=graphs(), max_hops=st.integers(1, 5), limit=st.integers(1, 20), keep=st.sampled_from([1.0, 0.95, 0.5]))
def test_the_best_paths_are_found_in_order(steps: Steps, max_hops: int, limit: int, keep: float) -> None:
    every = list(simple_paths(steps, [NODES[0]], 1.0, NODES[1], max_hops, keep))

    def search() -> PathSearch:
        return PathSearch(steps, NODES[0], NODES[1], max_hops=max_hops, keep=keep)

    strongest = sorted(every, key=lambda path: (-path.strength, len(path.memories), path.memories))
    assert search().strongest(limit) == strongest[:limit]
    shortest = sorted(every, key=lambda path: (len(path.memories), -path.strength, path.memories))
    assert search().shortest(limit) == shortest[:limit]
    assert not search().truncated


def test_a_search_without_end_is_cut_short_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [UUID(int=number) for number in range(40)]
    equal = Step("causal", "out", 1.0, 1.0)
    steps = {one: {other: equal for other in nodes if other != one} for one in nodes}
    monkeypatch.setattr(paths, "MAX_TRIED", 5000)
    search = PathSearch(steps, nodes[0], nodes[1], max_hops=5, keep=1.0)
    found = search.strongest(20)
    assert search.truncated
    assert len(found) == 20
    assert all(path.strength == 1 for path in found)
