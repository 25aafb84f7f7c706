"""``engram facts merge``, ``merges`` and ``unmerge``."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt
from engram.facts.schemas import Merge

_CHARS = 120


def merge_names(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that the node goes by.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The name that leads to the same node.")],
    agent: AgentOption = DEFAULT_AGENT,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make two names one node for every walk of the agent. What facts say stays as it was said."""
    with connected(url) as client:
        merge = client.facts.merge(agent_id(client, agent), name, other)
    if as_json:
        write_json(merge)
        return
    console = answers()
    console.print(Text(f"{_names(merge)}: one node now, which goes by {excerpt(merge.canonical, _CHARS)}."))
    console.print(f"Merged: {merge.id}", markup=False)


def list_merges(
    agent: AgentOption = DEFAULT_AGENT,
    undone: Annotated[bool, typer.Option("--undone", help="Also those that were taken back.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show merges of an agent, the one said last first."""
    with connected(url) as client:
        listing = client.facts.merges(agent_id(client, agent), include_undone=undone, limit=min(limit, 200))
        found = list(islice(listing, limit))
    if as_json:
        write_json({"data": [merge.model_dump(mode="json") for merge in found]})
        return
    console = answers()
    if not found:
        console.print("There are no merges.", style="dim")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Names", ratio=1, overflow="fold")
    table.add_column("Since (UTC)", no_wrap=True)
    for merge in found:
        names = Text(_names(merge))
        names.append(f"\n{merge.id}", "dim")
        since = Text(f"{merge.recorded_at:%Y-%m-%d %H:%M:%S}")
        if merge.undone_at is not None:
            since.append(f"\nto {merge.undone_at:%Y-%m-%d %H:%M:%S}", "yellow")
        table.add_row(names, since)
    console.print(table)
    console.print(Text(f"{counted(len(found), 'merge')}{', and perhaps more' if len(found) == limit else ''}", "dim"))


def undo_merge(
    merge_id: Annotated[str, typer.Argument(metavar="MERGE_ID", help="As merge and merges show it.")],
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a merge back: its names are two nodes again, as far as other merges allow."""
    with connected(url) as client:
        merge = client.facts.unmerge(merge_id)
    if as_json:
        write_json(merge)
        return
    answers().print(Text(f"Taken back: {_names(merge)}"))


def _names(merge: Merge) -> str:
    return f"{excerpt(merge.name, _CHARS)} = {excerpt(merge.other, _CHARS)}"
