"""A longer memory in passages, each with a vector of its own. Pure.

The mean of a long text is near no question: what answers one is a sentence or two of it. So a text of more than one
passage is embedded as a whole and by passages, and of them the nearest to a query counts. A sentence is not cut in two
unless it is very long: half a sentence says something else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engram.embeddings.chunking import is_blank, split
from engram.facts.statements.wording import worded
from engram.text.sentences import sentences

MAX_PASSAGES = 512
"""Passages of one memory; those of a longer text are longer."""

WHOLE = 2
"""A text of at most so many times the size of a passage stays whole: its mean says what it says, and a second search
among vectors, beside that of the wholes, would be for its halves."""

LONGEST = 4
"""A sentence of so many times the size of a passage is cut, between words if possible."""


def passages(text: str, chars: int, relations: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """``text`` in passages of whole sentences, as many as go into ``chars`` characters; none if it is shorter than two.

    What the memory states in ``relations`` is one passage more: a question is often nearer to that than to any sentence
    of the text. ``chars`` of 0 means that there are none.
    """
    if not chars:
        return []
    stated = worded(relations)
    found = _divided(text, chars)
    return [*found[: MAX_PASSAGES - 1], stated] if stated else found


def _divided(text: str, chars: int) -> list[str]:
    if len(text) <= WHOLE * chars:
        return []
    size = max(chars, math.ceil(2 * len(text) / MAX_PASSAGES))
    packed = [passage for passage in _packed(_units(text, size), size) if not is_blank(passage)]
    return packed[:MAX_PASSAGES] if len(packed) > 1 else []


def _units(text: str, size: int) -> Iterator[str]:
    for sentence in sentences(text):
        yield from split(sentence, LONGEST * size, _characters) if len(sentence) > LONGEST * size else [sentence]


def _packed(units: Iterator[str], size: int) -> Iterator[str]:
    """Neighbours put together as long as they fit."""
    passage = ""
    for unit in units:
        if passage and len(passage) + len(unit) > size:
            yield passage
            passage = ""
        passage += unit
    yield passage


def _characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]
