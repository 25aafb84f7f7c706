"""How many tokens a text has, by a model's own tokenizer or, where the model lives elsewhere, by estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Counter = Callable[[Sequence[str]], Sequence[int]]
"""Tokens of each text, without the special tokens that frame it."""

# Tokens per character, from the first code point of each range on. Prose comes out above what BPE and
# WordPiece vocabularies make of it; text that has no words (base64, hashes) may come out below.
_RANGES: list[tuple[int, float]] = [
    (0x00, 0.1),
    (0x0A, 1.0),  # a line break
    (0x0B, 0.1),
    (0x21, 1.0),  # punctuation
    (0x30, 0.6),  # digits
    (0x3A, 1.0),
    (0x41, 0.5),  # capitals
    (0x5B, 1.0),
    (0x61, 0.3),  # small letters
    (0x7B, 1.0),  # and everything up to CJK
    (0x2E80, 1.5),
    (0x10000, 3.0),  # emoji and rare scripts
]
_STARTS = np.array([start for start, _ in _RANGES])
_WEIGHTS = np.array([weight for _, weight in _RANGES])


def estimated_tokens(texts: Sequence[str]) -> list[int]:
    """A guess that errs on the high side for anything written by people."""
    return [_estimate(text) for text in texts]


def _estimate(text: str) -> int:
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    weights = _WEIGHTS[np.searchsorted(_STARTS, points, side="right") - 1]
    return int(np.ceil(weights.sum()))


def utf8_bytes(texts: Sequence[str]) -> list[int]:
    """An upper bound for the tokens of any vocabulary, and a measure of the memory a text takes."""
    return [len(text.encode()) for text in texts]


def counter_of(tokenizer: Tokenizer) -> Counter:
    """Counts with a copy of ``tokenizer``: the original may pad or truncate, and others are using it."""
    own: Any = type(tokenizer).from_str(tokenizer.to_str())
    own.no_truncation()
    own.no_padding()

    def count(texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in own.encode_batch_fast(list(texts), add_special_tokens=False)]

    return count
