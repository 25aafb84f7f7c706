"""``engram facts append``, ``delete``, ``undo`` and ``restore``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from engram.cli.facts.telling import said
from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, UrlOption, UserOption
from engram.cli.output import answers, write_json
from engram.cli.remote import connected
from engram.cli.text import counted
from engram.client import Engram
from engram.facts.schemas import FactChanged

FactArgument = Annotated[str, typer.Argument(metavar="FACT_ID", help="As append and list show it.")]


def append_fact(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="What it is about.")],
    predicate: Annotated[
        str, typer.Argument(metavar="PREDICATE", help="How they relate: works_at, worksAt, works at.")
    ],
    object: Annotated[str, typer.Argument(metavar="OBJECT", help="What it relates to.")],
    agent: AgentOption = DEFAULT_AGENT,
    user: UserOption = None,
    valid_from: Annotated[
        str | None,
        typer.Option("--valid-from", metavar="DATE", help="When it began; default: now.", show_default=False),
    ] = None,
    valid_until: Annotated[
        str | None, typer.Option("--valid-until", metavar="DATE", help="When it ends; default: it holds on.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option("--confidence", min=0, max=1, help="How sure it is; default: 1.", show_default=False)
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="TEXT", help="Where it comes from, such as a memory's id; may be repeated."),
    ] = None,
    supersede: Annotated[
        bool, typer.Option("--supersede/--no-supersede", help="Whether it ends what was said otherwise.")
    ] = True,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Append a fact. What its subject and predicate said otherwise ends when it begins."""
    with connected(url) as client:
        fact = client.agent(agent).facts.append(
            subject,
            predicate,
            object,
            user_id=user,
            valid_from=valid_from,
            valid_until=valid_until,
            confidence=confidence,
            sources=source or None,
            supersede=supersede,
        )
    if as_json:
        write_json(fact)
        return
    console = answers()
    console.print(Text(said(fact), "bold"))
    console.print(f"Appended: {fact.id}", markup=False)
    for id in fact.closed:
        console.print(f"Ended by it: {id}", markup=False)


def delete_fact(fact_id: FactArgument, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """Believe a fact no longer. What it superseded stays superseded; undo brings that back too."""
    _change("Deleted", lambda client: client.facts.delete(fact_id), url, as_json=as_json)


def undo_fact(fact_id: FactArgument, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """Take a fact back as if it had never been appended: what it superseded holds on."""
    _change("Taken back", lambda client: client.facts.undo(fact_id), url, as_json=as_json)


def restore_fact(fact_id: FactArgument, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """Bring back a fact that was deleted or taken back, at its old place."""
    _change("Restored", lambda client: client.facts.restore(fact_id), url, as_json=as_json)


def _change(what: str, change: Callable[[Engram], FactChanged], url: str | None, *, as_json: bool) -> None:
    with connected(url) as client:
        fact = change(client)
    if as_json:
        write_json(fact)
        return
    console = answers()
    console.print(Text.assemble(f"{what}: ", (said(fact), "bold")))
    if fact.changed:
        others = counted(len(fact.changed), "other fact ends", "other facts end")
        console.print(f"{others} at another time because of that.", style="dim")
