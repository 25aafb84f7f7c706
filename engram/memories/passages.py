"""A longer memory in passages, each with a vector of its own. Pure.

The mean of a long text is near no question: what answers one is a sentence or two of it. So a text of more than one
passage is embedded as a whole and by passages, and of them the nearest to a query counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from engram.embeddings.chunking import is_blank, split

MAX_PASSAGES = 512
"""Passages of one memory; those of a longer text are longer."""


def passages(text: str, chars: int) -> list[str]:
    """``text`` in pieces of at most ``chars`` characters, ended where a sentence ends if possible; none if it is one.

    Raises nothing; ``chars`` of 0 means that no text is divided.
    """
    if not chars or len(text) <= chars:
        return []
    pieces = split(text, max(chars, math.ceil(2 * len(text) / MAX_PASSAGES)), _characters)
    return [piece for piece in pieces if not is_blank(piece)][:MAX_PASSAGES]


def _characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]
