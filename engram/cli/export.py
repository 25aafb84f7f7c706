"""``engram export``."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, BinaryIO, cast

import typer

from engram.cli.errors import CommandError
from engram.cli.options import UrlOption
from engram.cli.output import messages
from engram.cli.progress import progress_bar
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted
from engram.client import Export


def export_agent(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent, by name or id.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is stdout.", show_default=False)
    ] = "-",
    compress: Annotated[bool, typer.Option("--gzip", help="Compress it.")] = False,
    embeddings: Annotated[bool, typer.Option("--embeddings/--no-embeddings", help="With vectors.")] = True,
    history: Annotated[
        bool, typer.Option("--history/--no-history", help="With what was before, and what was deleted.")
    ] = True,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="Only what held then.")] = None,
    known_at: Annotated[
        str | None, typer.Option("--known-at", metavar="TIME", help="Only what the server knew then.")
    ] = None,
    url: UrlOption = None,
) -> None:
    """Write all that an agent holds as lines of JSON, for engram import.

    A file is there only when it is whole.
    """
    if output == "-" and sys.stdout.isatty():
        raise CommandError("an export is no text to be read: name a file with -o FILE, or pipe it")
    with connected(url, patient=True) as client:
        lines = client.agents.export(
            agent_id(client, agent),
            include_embeddings=embeddings,
            include_history=history,
            as_of=as_of,
            known_at=known_at,
        )
        with lines, whole_file(output) as file:
            written = _write(lines, file, compress=compress)
    messages().print(f"Exported {counted(written, 'line')}.")


def _write(lines: Export, file: BinaryIO, *, compress: bool) -> int:
    target = cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file)) if compress else file
    source = iter(lines)
    header = next(source)
    target.write(header)
    total = 2 + sum(json.loads(header)["counts"].values())
    with progress_bar("Exporting", total) as progress:
        written = 1
        for line in source:
            target.write(line)
            written += 1
            progress(written)
    if target is not file:
        target.close()
    file.flush()
    return written


@contextmanager
def whole_file(output: str) -> Iterator[BinaryIO]:
    """A file that gets its name when it is whole."""
    if output == "-":
        yield sys.stdout.buffer
        return
    path = Path(output)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
