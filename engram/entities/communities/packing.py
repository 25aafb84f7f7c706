"""Arrays as bytes, for the way to another process and back. Pure."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed(**arrays: Any) -> bytes:
    held = BytesIO()
    np.savez(held, **arrays)
    return held.getvalue()


def unpacked(data: bytes) -> dict[str, NDArray[np.int64]]:
    """The arrays by their names, as numbers of 64 bits."""
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name].astype(np.int64) for name in arrays.files}
