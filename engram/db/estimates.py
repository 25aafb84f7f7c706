"""What Postgres believes of a table's size, without counting."""

from __future__ import annotations


def estimated_rows(table: str) -> str:
    """About how many rows one of our tables has, as an SQL expression; below 0 before its first ANALYZE."""
    return f"(SELECT reltuples::float8 FROM pg_class WHERE oid = '{table}'::regclass)"
