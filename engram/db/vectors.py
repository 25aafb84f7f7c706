"""pgvector's types: binary codecs for asyncpg, and the column type for tables and statements of SQLAlchemy.

A value goes in as a one-dimensional numpy array or a list of numbers, and comes out as a numpy float32
array, with no text in between. An array (``$1::vector[]``) comes out as a list of those, and goes in through
``packed``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import asyncpg
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pgvector.sqlalchemy import HALFVEC, VECTOR

_HEADER = struct.Struct(">HH")  # number of dimensions, and a word that is always zero

_DTYPES = {"vector": ">f4", "halfvec": ">f2"}

# Looked up, not assumed: pgvector before 0.7 has no halfvec, and is to be refused for its version, not here.
_TYPES = """
    SELECT t.typname AS name, n.nspname AS schema, n.nspname = ANY (current_schemas(true)) AS on_path
    FROM pg_catalog.pg_extension e
    JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = ANY ($1::text[])
    WHERE e.extname = 'vector'
"""
_ADD_TO_PATH = """
    SELECT set_config(
        'search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident($1)), false
    )
"""


class Vector(VECTOR):
    """A ``vector`` column. Binds and reads what the codec does; pgvector's own type would go through text."""

    cache_ok = True

    def bind_processor(self, dialect: Any) -> None:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


class HalfVector(HALFVEC):
    """A ``halfvec`` column, with the same values as ``Vector``."""

    cache_ok = True

    def bind_processor(self, dialect: Any) -> None:
        return None

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


def packed(vectors: ArrayLike) -> list[bytes]:
    """Rows of a matrix, shape (n, dimension), as a parameter of type ``vector[]``.

    A plain list of arrays would look to asyncpg like an array of more dimensions.
    """
    matrix = np.asarray(vectors, dtype=_DTYPES["vector"])
    if matrix.size == 0:
        return []
    if matrix.ndim != 2:
        raise ValueError(f"vectors make a matrix of two dimensions, not {matrix.ndim}")
    header = _HEADER.pack(matrix.shape[1], 0)
    return [header + row.tobytes() for row in matrix]


async def register_vectors(connection: asyncpg.Connection) -> None:
    """Teach a connection ``vector`` and ``halfvec``, whatever schema the extension lives in.

    Where that schema is not on the search path it is appended to it for the session, so that types and
    operators need no qualification. Does nothing in a database without the extension.
    """
    types = await connection.fetch(_TYPES, list(_DTYPES))
    if types and not types[0]["on_path"]:
        await connection.execute(_ADD_TO_PATH, types[0]["schema"])
    for name, schema, _ in types:
        await connection.set_type_codec(
            name, schema=schema, encoder=_encoder(name), decoder=_decoder(name), format="binary"
        )


def _encoder(name: str) -> Callable[[ArrayLike | bytes], bytes]:
    dtype = _DTYPES[name]

    def encode(value: ArrayLike | bytes) -> bytes:
        if isinstance(value, bytes):
            return value  # an element of what `packed` made
        array = np.asarray(value, dtype=dtype)
        if array.ndim != 1:
            raise ValueError(f"a {name} has one dimension, not {array.ndim}")
        return _HEADER.pack(array.size, 0) + array.tobytes()

    return encode


def _decoder(name: str) -> Callable[[bytes], NDArray[np.float32]]:
    dtype = _DTYPES[name]

    def decode(data: bytes) -> NDArray[np.float32]:
        return np.frombuffer(data, dtype=dtype, offset=_HEADER.size).astype(np.float32)

    return decode
