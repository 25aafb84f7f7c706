"""``engram facts path``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from engram.cli.entities.options import LabeledOption, MinCoOccurOption, RelationsOption
from engram.cli.options import DEFAULT_AGENT, AgentOption, AsOfOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt


def path(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The entity where the chain begins.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The one where it ends.")],
    agent: AgentOption = DEFAULT_AGENT,
    max_hops: Annotated[int, typer.Option("--max-hops", min=1, max=4, help="How long it may be.")] = 3,
    min_co_occur: MinCoOccurOption = 1,
    labeled: LabeledOption = False,
    relation: RelationsOption = None,
    as_of: AsOfOption = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the shortest chain of entities that occur together, from one to another."""
    with connected(url) as client:
        found = client.facts.path(
            agent_id(client, agent),
            source,
            target,
            max_hops=max_hops,
            min_co_occur=min_co_occur,
            labeled=labeled or None,
            relations=relation or None,
            as_of=as_of,
        )
    if as_json:
        write_json(found)
        return
    console = answers()
    if not found.found:
        console.print(f"No chain of at most {counted(max_hops, 'pair')} leads there.", style="dim")
    for place, name in enumerate(found.path):
        told = Text(excerpt(name, 80), "bold" if place in (0, len(found.path) - 1) else "")
        if place > 0:
            edge = found.edges[place - 1]
            told = Text("↔ ", "cyan").append_text(told)
            told.append(f"  {counted(edge.co_occur, 'memory', 'memories')}", "dim")
        console.print(told)
    if found.truncated:
        console.print("A cap cut the search short: there may be another.", style="dim")
