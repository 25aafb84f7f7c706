"""Vectors as text: float32 numbers, little-endian, in base64. Pure."""

from __future__ import annotations

import base64
import binascii

import numpy as np

from engram.embeddings.base import Vectors

_DTYPE = np.dtype("<f4")
_NEAR = 1e-3
"""How far from 1 the length of a vector may be. Those that a server made are nearer by far."""


def as_text(vector: Vectors) -> str:
    return base64.b64encode(np.asarray(vector, dtype=_DTYPE).tobytes()).decode()


def from_text(text: str, dimension: int) -> Vectors:
    """The vector, shape (dimension,). Raises ValueError for what is none, or no such vector as a server stores."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be base64") from None
    if len(raw) != dimension * _DTYPE.itemsize:
        numbers = f"{len(raw) / _DTYPE.itemsize:g}"
        raise ValueError(f"has {numbers} dimensions; the header's model has {dimension}")
    vector = np.frombuffer(raw, dtype=_DTYPE).astype(np.float32)
    if not np.isfinite(vector).all():
        raise ValueError("must not hold NaN or infinite numbers")
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if length and abs(length - 1) > _NEAR:
        raise ValueError("must have the length 1, or be all zeros")
    return vector
