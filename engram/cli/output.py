"""Where a command writes: answers on stdout, everything else on stderr, colours only where a person looks."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO, cast

from pydantic import BaseModel
from rich.console import Console


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        # The reader has gone: the command's end is settled in one place, not here.
        raise BrokenPipeError


def answers() -> Console:
    """For what was asked for. As wide as the terminal; where there is none, as ``COLUMNS`` says, or 80."""
    return _Terminal(highlight=False)


def messages() -> Console:
    """For progress and errors: stderr."""
    return _Terminal(stderr=True, highlight=False)


def write_json(value: BaseModel | dict[str, Any] | list[Any]) -> None:
    """One JSON document on stdout, indented; in ASCII where the terminal's encoding could not carry the text."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    sys.stdout.write(json.dumps(plain, ensure_ascii=not _speaks_unicode(), allow_nan=False, indent=2) + "\n")


def write_json_line(value: BaseModel) -> None:
    """One JSON object on a line of stdout, as one of many."""
    plain = value.model_dump(mode="json")
    sys.stdout.write(json.dumps(plain, ensure_ascii=not _speaks_unicode(), allow_nan=False) + "\n")


def write_error(line: str) -> None:
    sys.stderr.write(f"engram: {line}\n")


def tolerate_any_text() -> None:
    """Show what the terminal's encoding has no sign for as ``?``, instead of failing over it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            cast(Any, stream).reconfigure(errors="replace")


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def abandon(stream: TextIO) -> None:
    """Let go of a stream whose reader has gone, so that Python's own flush at exit does not complain."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, stream.fileno())
    finally:
        os.close(null)
