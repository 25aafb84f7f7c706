"""The vectors of memories to be written: of each as a whole, and of the passages of a longer one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.embeddings.base import Embedder, Vectors
from engram.embeddings.checks import unit_vector
from engram.memories.passages import passages
from engram.memories.schemas import MemoryItem, Sensitivity
from engram.problems import InvalidInputProblem


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """``whole`` is of length 1, or 0 where there was nothing to read, and was read in so many ``chunks``; ``passages``
    has the shape (passages, dimension), and no rows for a text that is one passage or came with its vector."""

    whole: Vectors
    chunks: int
    passages: Vectors


def is_withheld(item: MemoryItem, *, in_bulk: bool) -> bool:
    """Whether nothing is to follow from what a memory declares."""
    return in_bulk and item.sensitivity is Sensitivity.high


def _stated(item: MemoryItem, *, in_bulk: bool) -> list[dict[str, Any]]:
    return [] if is_withheld(item, in_bulk=in_bulk) else [one.model_dump(mode="json") for one in item.relations]


async def embed(
    embedder: Embedder,
    items: Sequence[MemoryItem],
    prefixes: Sequence[str],
    *,
    passage_chars: int,
    in_bulk: bool = False,
) -> list[Embedded]:
    """The vectors of each item, in one call of the embedder. ``prefixes`` lead to the items' fields in a request.
    ``in_bulk``: what is sensitive states nothing.

    Raises InvalidInputProblem for a given vector of the wrong dimension, and what the embedder raises.
    """
    dimension = embedder.model.dimension
    for item, prefix in zip(items, prefixes, strict=True):
        if item.embedding is not None and len(item.embedding) != dimension:
            raise InvalidInputProblem.of(
                f"{prefix}embedding",
                f"has {len(item.embedding)} dimensions; the model {embedder.model.name} has {dimension}",
            )
    read_by_us = [item for item in items if item.embedding is None]
    texts = [item.content for item in read_by_us]
    divided = await asyncio.to_thread(
        lambda: [passages(item.content, passage_chars, _stated(item, in_bulk=in_bulk)) for item in read_by_us]
    )
    made = await embedder.embed_passages([*texts, *(one for parts in divided for one in parts)]) if texts else None
    embedded: list[Embedded] = []
    read, start = 0, len(texts)
    for item in items:
        if item.embedding is not None or made is None:
            assert item.embedding is not None
            embedded.append(Embedded(unit_vector(item.embedding), 1, np.empty((0, dimension), dtype=np.float32)))
            continue
        end = start + len(divided[read])
        embedded.append(Embedded(made.vectors[read], made.chunks[read], made.vectors[start:end]))
        read, start = read + 1, end
    return embedded
