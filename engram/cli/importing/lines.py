"""Lines of a stream, numbered, decoded and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from engram.cli.importing.entries import Flaw

MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest memory, escaped, with the longest embedding, fits well."""


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, str | Flaw]]:
    """Lines from 1 on, without their ends (LF or CRLF). One that cannot be read is a flaw, and the next is read."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            _skip_rest(stream, line)
            yield number, Flaw(f"line {number}", f"longer than {MAX_LINE_BYTES // 1024 // 1024} MiB")
            continue
        try:
            yield number, line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            yield number, Flaw(f"line {number}", f"not UTF-8 (byte {error.start + 1})")


def _skip_rest(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE_BYTES)
