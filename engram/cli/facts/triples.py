"""``engram facts triples`` and ``expire``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.facts.telling import moment
from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, KnownAtOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt
from engram.facts.schemas import Provenance
from engram.facts.triples.schemas import Triple, TripleSort

_CHARS = 120


def list_triples(
    agent: AgentOption = DEFAULT_AGENT,
    subject: Annotated[str | None, typer.Option("--subject", metavar="NAME", help="Only about this entity.")] = None,
    relation: Annotated[str | None, typer.Option("--relation", metavar="NAME", help="Only of this relation.")] = None,
    object: Annotated[str | None, typer.Option("--object", metavar="NAME", help="Only with this object.")] = None,
    entity: Annotated[str | None, typer.Option("--entity", metavar="NAME", help="Only with this at an end.")] = None,
    adapter: Annotated[str | None, typer.Option("--adapter", metavar="NAME", help="Only what it extracted.")] = None,
    provenance: Annotated[Provenance | None, typer.Option("--provenance", help="Only of this provenance.")] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="What held at this moment; else what has not ended.")
    ] = None,
    known_at: KnownAtOption = None,
    ended: Annotated[bool, typer.Option("--ended", help="Also what has ended.")] = False,
    sort: Annotated[TripleSort, typer.Option("--sort", help="What comes first.")] = TripleSort.co_occur,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what facts say, a line for each subject, relation and object, and how many memories state it."""
    with connected(url) as client:
        listing = client.facts.list(
            agent_id(client, agent),
            subject=subject,
            relation=relation,
            object=object,
            entity=entity,
            adapter=adapter,
            provenance=provenance.value if provenance is not None else None,
            as_of=as_of,
            known_at=known_at,
            include_ended=ended or None,
            include_source_status=True,
            sort_by=sort.value,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
    if as_json:
        write_json({"data": [triple.model_dump(mode="json") for triple in found]})
        return
    console = answers()
    if not found:
        console.print("Nothing is said of that.", style="dim")
        return
    console.print(_table(found))
    console.print(Text(f"{counted(len(found), 'line')}{', and perhaps more' if len(found) == limit else ''}", "dim"))


def expire_by_adapter(
    adapter: Annotated[str, typer.Argument(metavar="ADAPTER", help="Who extracted what is to be expired.")],
    agent: AgentOption = DEFAULT_AGENT,
    max_confidence: Annotated[
        float | None,
        typer.Option("--max-confidence", min=0, max=1, metavar="NUMBER", help="Only up to this confidence."),
    ] = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Believe no longer what one extractor said. The memories stay. Needs an admin's key."""
    with connected(url) as client:
        done = client.facts.expire_by_adapter(agent_id(client, agent), adapter, max_confidence=max_confidence)
    if as_json:
        write_json(done)
        return
    console = answers()
    told = f"{counted(done.expired, 'fact')} expired; {counted(done.changed, 'other')} hold on because of that."
    console.print(told, markup=False)


def _table(triples: Iterable[Triple]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Said", ratio=1, overflow="fold")
    table.add_column("By", justify="right", no_wrap=True)
    table.add_column("Holds (UTC)", no_wrap=True)
    for triple in triples:
        subject, relation, object = (
            excerpt(text, _CHARS) for text in (triple.subject_display_name, triple.relation, triple.object_display_name)
        )
        holds = f"since {moment(triple.valid_from)}"
        if triple.valid_until is not None:
            holds = f"{moment(triple.valid_from)}\nto {moment(triple.valid_until)}"
        told = Text(f"{subject} —{relation}→ {object}")
        if triple.stale:
            told.append("  stale", "yellow")
        table.add_row(told, str(triple.co_occur), holds)
    return table
