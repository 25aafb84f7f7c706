"""Rows that are shown together: as many as are wanted, unless they are too large to be held at once.

Two hundred memories of the longest texts are over a gigabyte. An answer is built in memory, and stays there until its
reader has taken it.
"""

from __future__ import annotations

from typing import Any

import asyncpg

MAX_PORTION_BYTES = 8 * 1024 * 1024
"""Of what may be long in the rows of one answer. A first row that is longer by itself is shown alone."""


def portion(rows: str, *, columns: str, size: str, order: str, limit: str) -> str:
    """SQL of the first of ``rows``, with ``total``, how many of them there are; read by ``shown``.

    ``rows`` is a statement in that ``order``, bounded to one row more than ``limit``. ``size`` is what a row counts
    for, in bytes. Long texts that are cut off are not read: the length of one stands in its pointer.
    """
    so_far = f"(ORDER BY {order} ROWS UNBOUNDED PRECEDING)"
    return f"""
        SELECT {columns}, total
        FROM (
            SELECT {columns}, sum({size}) OVER {so_far} AS bytes, row_number() OVER {so_far} AS place,
                count(*) OVER () AS total
            FROM ({rows}) AS wanted
        ) AS sized
        WHERE place <= {limit} AND (bytes <= {MAX_PORTION_BYTES} OR place = 1)
        ORDER BY place
        """


def shown(rows: list[asyncpg.Record]) -> tuple[list[dict[str, Any]], bool]:
    """What a ``portion`` gave, and whether there is more."""
    found = [dict(row) for row in rows]
    totals = {row.pop("total") for row in found}
    return found, any(total > len(found) for total in totals)
