"""Files that ``engram export`` wrote: the server reads them, and makes an agent of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from engram.cli.errors import CommandError
from engram.cli.importing.lines import MAX_LINE_BYTES
from engram.cli.importing.source import Source
from engram.cli.progress import progress_bar
from engram.cli.text import one_line
from engram.client import Engram
from engram.problems import InvalidInputProblem
from engram.transfer.importing.reading import Lines
from engram.transfer.schemas import FORMAT, AgentImported, Counts

_OPENING_BYTES = 1024 * 1024
_PIECE_BYTES = 256 * 1024
_LINES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Making:
    """What is made of an export: ``name`` of the agent, where it is not the exported one's."""

    name: str | None
    new_ids: bool
    reembed: bool


def is_export(source: Source) -> bool:
    """By its first line."""
    first = source.rewind().readline(_OPENING_BYTES)
    try:
        header = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("type") == "header" and header.get("format") == FORMAT


def check_export(source: Source) -> Counts:
    """Read an export to its end, as far as it can be judged without a server. Raises CommandError."""
    lines = Lines()
    try:
        with progress_bar("Checking", source.size) as progress:
            stream = source.rewind()
            lines.header(stream.readline(MAX_LINE_BYTES))
            while group := stream.readlines(_LINES_AT_ONCE * 1024):
                lines.batches(group)
                progress(stream.tell())
    except InvalidInputProblem as problem:
        raise CommandError(one_line(problem.detail)) from None
    if lines.footer is None:
        raise CommandError("the footer is missing: the file was cut off")
    return lines.counts


def make(client: Engram, source: Source, making: Making) -> AgentImported:
    """Have the server make the agent. Raises what the SDK raises."""
    with progress_bar("Importing", source.size) as progress:

        def pieces() -> Iterator[bytes]:
            stream = source.rewind()
            while piece := stream.read(_PIECE_BYTES):
                yield piece
                progress(stream.tell())

        return client.agents.import_(
            pieces(),
            name=making.name,
            ids="new" if making.new_ids else None,
            reembed=True if making.reembed else None,
        )
