"""``engram facts list``, ``show`` and ``recall``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.facts.changing import FactArgument
from engram.cli.facts.telling import holds, moment, said
from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, KnownAtOption, UrlOption, UserOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, one_line
from engram.facts.schemas import DEFAULT_HOPS, DEFAULT_PATHS, MAX_HOPS, MAX_PATHS, FactHistory, StoredFact

ValidAtOption = Annotated[
    str | None, typer.Option("--valid-at", metavar="DATE", help="Only what held at this moment.", show_default=False)
]


def list_facts(
    agent: AgentOption = DEFAULT_AGENT,
    user: UserOption = None,
    subject: Annotated[str | None, typer.Option("--subject", metavar="TEXT", help="Only about this.")] = None,
    predicate: Annotated[str | None, typer.Option("--predicate", metavar="NAME", help="Only with this one.")] = None,
    object: Annotated[str | None, typer.Option("--object", metavar="TEXT", help="Only with this object.")] = None,
    valid_at: ValidAtOption = None,
    known_at: KnownAtOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show facts of a user, or of none, the one learnt last first; superseded ones too, without --valid-at."""
    with connected(url) as client:
        listing = client.facts.query(
            agent_id(client, agent),
            user_id=user,
            subject=subject,
            predicate=predicate,
            object=object,
            valid_at=valid_at,
            known_at=known_at,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
    if as_json:
        write_json({"data": [fact.model_dump(mode="json") for fact in found]})
        return
    console = answers()
    if not found:
        console.print("There are no such facts.", style="dim")
        return
    console.print(_table(found))
    console.print(Text(f"{counted(len(found), 'fact')}{', and perhaps more' if len(found) == limit else ''}", "dim"))


def show_fact(fact_id: FactArgument, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """Show a fact in any state, and what was believed of it when."""
    with connected(url) as client:
        history = client.facts.history(fact_id)
    if as_json:
        write_json(history)
        return
    console = answers()
    console.print(Text(said(history.fact), "bold"))
    console.print(_fields(history.fact))
    console.print(_beliefs(history))


def recall_graph(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question that names what to begin at.")],
    agent: AgentOption = DEFAULT_AGENT,
    user: UserOption = None,
    hops: Annotated[int, typer.Option("--hops", min=0, max=MAX_HOPS, help="Facts on a path.")] = DEFAULT_HOPS,
    valid_at: ValidAtOption = None,
    known_at: KnownAtOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, max=MAX_PATHS, help="At most so many paths.")
    ] = DEFAULT_PATHS,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer by chains of facts that begin at names in the question, the shortest first."""
    with connected(url) as client:
        found = client.facts.recall_graph(
            agent_id(client, agent),
            query,
            user_id=user,
            hops=hops,
            valid_at=valid_at,
            known_at=known_at,
            limit=limit,
        )
    if as_json:
        write_json(found)
        return
    console = answers()
    for path in found:
        # A path is a line for other programs too, however long.
        console.print(Text(one_line(path.rendered)), soft_wrap=True)
    if not found.paths:
        console.print("Nothing was found.", style="dim")
    if found.truncated:
        console.print("There are, or may be, more paths.", style="dim")


def _table(facts: Iterable[StoredFact]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Fact", ratio=1, overflow="fold")
    table.add_column("Holds (UTC)", no_wrap=True)
    for fact in facts:
        told = Text(said(fact))
        told.append(f"\n{fact.id}", "dim")
        table.add_row(told, holds(fact))
    return table


def _fields(fact: StoredFact) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fact.model_dump(mode="json").items():
        shown = ", ".join(value) if isinstance(value, list) else value
        if shown not in (None, ""):
            table.add_row(name.replace("_", " "), one_line(str(shown)))
    return table


def _beliefs(history: FactHistory) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Believed since (UTC)", no_wrap=True)
    table.add_column("Status", no_wrap=True)
    table.add_column("Ends", no_wrap=True)
    table.add_column("Because of", ratio=1, overflow="fold", style="dim")
    for belief in history.beliefs:
        ends = moment(belief.valid_until) if belief.valid_until is not None else "holds on"
        table.add_row(f"{belief.recorded_at:%Y-%m-%d %H:%M:%S}", belief.status.value, ends, belief.superseded_by or "")
    return table
