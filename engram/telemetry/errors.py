"""What a log may say of an error whose message may hold what users stored."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

# Their messages repeat rows ("Failing row contains ..."), arguments and input. By name, so that a command which logs
# need not load them.
_TALKATIVE = frozenset({"asyncpg", "sqlalchemy", "pydantic_core"})


def described(error: BaseException) -> str:
    """The class of an error and its message; where that may repeat values, what the database's codes say instead."""
    name = type(error).__name__
    if not _is_talkative(error):
        message = str(error)
        return f"{name}: {message}" if message else name
    told = [name]
    # Names of our own tables and constraints, and of Postgres's codes.
    for attribute in ("sqlstate", "table_name", "constraint_name"):
        value = getattr(error, attribute, None)
        if isinstance(value, str):
            told.append(f"{attribute.removesuffix('_name')} {value}")
    original = getattr(error, "orig", None)
    if isinstance(original, BaseException):
        told.append(f"from {described(original)}")
    return ", ".join(told)


def traceback_of(error: BaseException) -> str:
    """The error and what led to it, as Python prints them, without messages that may repeat values."""
    return "".join(_lines(error, set())).rstrip("\n")


def _lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    for earlier, how in (
        (error.__cause__, "The above exception was the direct cause of the following exception:"),
        (
            None if error.__suppress_context__ else error.__context__,
            "During handling of the above exception, another exception occurred:",
        ),
    ):
        if earlier is not None and id(earlier) not in seen:
            yield from _lines(earlier, seen)
            yield f"\n{how}\n\n"
            break
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{described(error)}\n"
    for part in getattr(error, "exceptions", ()):  # of a group
        if isinstance(part, BaseException) and id(part) not in seen:
            yield "\nOne of the group:\n\n"
            yield from _lines(part, seen)


def _is_talkative(error: BaseException) -> bool:
    return any(base.__module__.partition(".")[0] in _TALKATIVE for base in type(error).__mro__)
