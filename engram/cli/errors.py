"""How a command ends when it cannot do what it was asked: one line on stderr, and an exit status."""

from __future__ import annotations

from pydantic import ValidationError

from engram.cli.text import one_line
from engram.http.fields import invalid_input
from engram.problems import FieldError, Problem

FAILED = 1
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


class CommandError(Exception):
    """What a person did wrong or must mend, in one line."""


def complaint(error: Exception) -> str:
    """One line about any error. Of one that nobody expected it says how to learn more."""
    if isinstance(error, CommandError | Problem):
        return one_line(str(error))
    if isinstance(error, OSError) and error.strerror:
        return one_line(f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror)
    return one_line(f"internal error: {type(error).__name__}: {error} (ENGRAM_DEBUG=1 shows where)")


def faults(error: ValidationError) -> list[FieldError]:
    """What pydantic found wrong. Never its input, which may be a secret or somebody's memories."""
    return list(invalid_input(error.errors(include_url=False, include_input=False, include_context=False)).errors)
