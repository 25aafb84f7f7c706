"""The chain of memories behind a graph score, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from engram.cli.text import excerpt
from engram.graph.schemas import Direction, PathStep
from engram.recall.schemas import RecallHit

# As read from the memory that was found, back to where the walk began.
_BACK = {Direction.out: "←", Direction.incoming: "→", Direction.both: "↔"}


def in_words(path: Sequence[PathStep], texts: Mapping[str, str], *, limit: int = 48) -> str:
    """How a walk came to a memory, nearest first: ``causal ← "User is a software engineer" (0.97)``.

    The number is the share of the score that the hop keeps, before the hop penalty: weight times multiplier. ``texts``
    has the memories' texts by id, of which ``limit`` characters are shown. Empty where the path has no hops.
    """
    hops = []
    for source, step in reversed(list(pairwise(path))):
        assert step.relation_type is not None, "every step but the first came over an edge"
        name = f"entity {excerpt(step.entity, 40)}" if step.entity else step.relation_type.value
        arrow = _BACK[step.direction or Direction.both]
        kept = (step.weight or 0.0) * (step.multiplier or 0.0)
        hops.append(f"{name} {arrow} “{excerpt(texts.get(source.memory_id, source.memory_id), limit)}” ({kept:.2f})")
    return ", ".join(hops)


def strangers(hits: Iterable[RecallHit]) -> list[str]:
    """Ids of the memories on paths that are not themselves among the hits."""
    hits = list(hits)
    known = {hit.id for hit in hits}
    steps = (step.memory_id for hit in hits for path in _paths(hit) for step in path)
    return list(dict.fromkeys(id for id in steps if id not in known))


def _paths(hit: RecallHit) -> list[list[PathStep]]:
    weaker = [alternative.path for alternative in hit.explain.alternatives] if hit.explain else []
    return [hit.path, *weaker]
