"""``engram facts related``."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.entities.options import EntityArgument, MinCoOccurOption
from engram.cli.options import DEFAULT_AGENT, AgentOption, AsOfOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt, one_line


def related_entities(
    entity: EntityArgument,
    agent: AgentOption = DEFAULT_AGENT,
    min_co_occur: MinCoOccurOption = 1,
    as_of: AsOfOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what occurs with an entity, the most often first."""
    with connected(url) as client:
        listing = client.facts.related(
            agent_id(client, agent),
            entity,
            min_co_occur=min_co_occur,
            as_of=as_of,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
    if as_json:
        write_json({"data": [one.model_dump(mode="json") for one in found]})
        return
    console = answers()
    if not found:
        console.print(Text(f"Nothing occurs with {one_line(entity)}.", "dim"))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Together", justify="right")
    table.add_column("Degree", justify="right", style="dim")
    table.add_column("Entity", ratio=1)
    for one in found:
        table.add_row(str(one.co_occur), str(one.degree), Text(excerpt(one.name, 200)))
    console.print(table)
    more = ", and perhaps more" if len(found) == limit else ""
    console.print(Text(f"{counted(len(found), 'entity', 'entities')}{more}", "dim"))
