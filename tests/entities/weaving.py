"""Memories that name entities together, so and so often."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from engram.client import AsyncAgentScope
from engram.entities.graph.schemas import Traversal, TraverseNode

_numbers = count()


async def weave(bot: AsyncAgentScope, pairs: Mapping[tuple[str, ...], int], **fields: object) -> None:
    """For each group of names so many memories that name all of it."""
    await bot.memories.create_many(
        {"content": f"memory {next(_numbers)}", "entities": list(names), **fields}
        for names, times in pairs.items()
        for _ in range(times)
    )


def star(middle: str, spokes: int, *, begin: int = 0) -> dict[tuple[str, ...], int]:
    """So many others, each of which occurs once with one."""
    return {(middle, f"spoke{number}"): 1 for number in range(begin, begin + spokes)}


def names(walk: Traversal) -> list[str]:
    return [node.name for node in walk.nodes]


def node(walk: Traversal, name: str) -> TraverseNode:
    (found,) = [node for node in walk.nodes if node.name == name]
    return found
