"""``engram taxonomy``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt
from engram.entities.communities.schemas import Communities


def communities_table(found: Communities) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Entities", justify="right")
    table.add_column("Community", ratio=1)
    for community in found.data:
        table.add_row(str(community.entities), Text(excerpt(", ".join(community.members), 200)))
    return table


def taxonomy(
    agent: AgentOption = DEFAULT_AGENT,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many entities.")] = 50,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an agent knows most of: entities that occur with others most, and its communities where they are
    computed."""
    with connected(url) as client:
        found = client.agents.taxonomy(agent_id(client, agent), limit=limit)
    if as_json:
        write_json(found)
        return
    console = answers()
    if not found.entities:
        console.print("Its memories name nothing.", style="dim")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Degree", justify="right")
    table.add_column("Memories", justify="right")
    table.add_column("Entity", ratio=1)
    for entity in found.entities:
        table.add_row(str(entity.degree), str(entity.memories), Text(excerpt(entity.name, 200)))
    console.print(table)
    if found.communities.data:
        console.print(communities_table(found.communities))
    more = "; there are more" if found.truncated else ""
    console.print(Text(f"{counted(len(found.entities), 'entity', 'entities')}{more}", "dim"))
