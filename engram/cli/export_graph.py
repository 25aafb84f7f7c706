"""``engram export-graph``."""

from __future__ import annotations

import gzip
import sys
from typing import Annotated, BinaryIO, Literal, cast

import typer

from engram.cli.errors import CommandError
from engram.cli.export import whole_file
from engram.cli.options import UrlOption
from engram.cli.output import messages
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted


def export_graph(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent, by name or id.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is stdout.", show_default=False)
    ] = "-",
    format: Annotated[
        Literal["graphml", "jsonld"], typer.Option("--format", "-f", help="What it is to be opened by.")
    ] = "graphml",
    everything: Annotated[bool, typer.Option("--all", help="With what is invalidated, too.")] = False,
    compress: Annotated[bool, typer.Option("--gzip", help="Compress it.")] = False,
    url: UrlOption = None,
) -> None:
    """Write an agent's entities and what connects them as a graph, for Gephi, yEd, networkx or any reader of RDF.

    A file is there only when it is whole.
    """
    if output == "-" and sys.stdout.isatty():
        raise CommandError("a graph is no text to be read: name a file with -o FILE, or pipe it")
    with connected(url, patient=True) as client:
        graph = client.agents.export_graph(agent_id(client, agent), format=format, all=everything)
        with graph, whole_file(output) as file:
            target = cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file)) if compress else file
            written = graph.save(target)
            if target is not file:
                target.close()
            file.flush()
    messages().print(f"Exported {counted(written, 'byte')}.")
