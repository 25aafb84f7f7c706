"""Long text in pieces that a model can read, and the vectors of the pieces made one again."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from engram.embeddings.base import Vectors
from engram.embeddings.checks import unit
from engram.embeddings.tokens import Counter
from engram.text.sentences import SENTENCE_END

# Tokenizers keep some hundred bytes per token: longer text is divided first and counted after.
_COUNTABLE_CHARS = 16_384

_WORD_END = re.compile(r"\s+")

_JOINER = "\u200d"
_LONGEST_CLUSTER = 32


def split(text: str, limit: int, count: Counter) -> list[str]:
    """``text`` in pieces of at most ``limit`` tokens by ``count``; put together they are ``text`` again.

    Pieces end where a sentence does, else where a word does, else between characters; only a single character
    may be over the limit. Text that fits is one piece, and the empty text is one empty piece.
    """
    if len(text.encode()) <= limit:  # no vocabulary in use makes more tokens than there are bytes
        return [text]
    if len(text) <= _COUNTABLE_CHARS and count([text])[0] <= limit:
        return [text]
    return list(_packed(_units(text, limit, count, (_sentences, _words)), limit))


def _packed(units: Iterator[tuple[str, int]], limit: int) -> Iterator[str]:
    """Neighbours put together as long as they fit."""
    piece: list[str] = []
    size = 0
    for unit_text, unit_size in units:
        if piece and size + unit_size > limit:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(unit_text)
        size += unit_size
    yield "".join(piece)


Divider = Callable[[str], list[str]]


def _units(text: str, limit: int, count: Counter, dividers: tuple[Divider, ...]) -> Iterator[tuple[str, int]]:
    """Parts of ``text`` that fit, each with its tokens, divided no finer than needed."""
    parts = dividers[0](text) if dividers else _evenly(text, limit, count)
    sizes = iter(count([part for part in parts if len(part) <= _COUNTABLE_CHARS]))
    for part in parts:
        size = next(sizes) if len(part) <= _COUNTABLE_CHARS else None
        if len(part) <= 1 or (size is not None and size <= limit):
            yield part, size or 0
        else:
            yield from _units(part, limit, count, dividers[1:])


def _sentences(text: str) -> list[str]:
    return _cut(text, _ends(SENTENCE_END, text))


def _words(text: str) -> list[str]:
    return _cut(text, _ends(_WORD_END, text))


def _evenly(text: str, limit: int, count: Counter) -> list[str]:
    """As many parts as are needed if tokens are spread evenly; halves where they cannot be counted yet."""
    parts = math.ceil(count([text])[0] / limit) if len(text) <= _COUNTABLE_CHARS else 2
    step = len(text) / max(parts, 2)
    return _cut(text, [_gap(text, int(step * part)) for part in range(1, max(parts, 2))])


def _ends(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Where matches end. In steps, as a search lets no other thread run before it has found something."""
    for start in range(0, len(text), _COUNTABLE_CHARS):
        for match in pattern.finditer(text, start, start + _COUNTABLE_CHARS):
            yield match.end()


def _cut(text: str, ends: Iterable[int]) -> list[str]:
    inner = sorted({end for end in ends if 0 < end < len(text)})
    return [text[start:end] for start, end in zip([0, *inner], [*inner, len(text)], strict=True)]


def _gap(text: str, near: int) -> int:
    """Where to cut near ``near``: if possible not between a letter and its marks or inside a joined emoji."""
    first = max(near, 1)
    for at in range(first, max(first - _LONGEST_CLUSTER, 0), -1):
        if not _continues(text, at):
            return at
    return first


def _continues(text: str, at: int) -> bool:
    char = text[at]
    return (
        _JOINER in (char, text[at - 1])
        or unicodedata.category(char).startswith("M")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
    )


def is_blank(text: str) -> bool:
    """Whether there is nothing to read: only white space, controls and characters that show nothing."""
    return not any(unicodedata.category(char)[0] not in "ZC" for char in text)


def combine(vectors: Vectors, pieces: Sequence[Sequence[str]]) -> Vectors:
    """One vector per text from one per piece, in order: their mean, weighted by visible length."""
    combined = np.empty((len(pieces), vectors.shape[1]), dtype=np.float32)
    start = 0
    for row, parts in enumerate(pieces):
        end = start + len(parts)
        if len(parts) == 1:
            combined[row] = vectors[start]
        else:
            weights = np.array([len("".join(part.split())) for part in parts], dtype=np.float64)
            combined[row] = unit((weights @ vectors[start:end])[np.newaxis])[0]
        start = end
    return combined
