"""``engram related``, ``engram backlinks`` and ``engram timeline``: memories by what they name."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.entities.options import EntityArgument
from engram.cli.memories import table
from engram.cli.options import (
    DEFAULT_AGENT,
    AgentOption,
    AsOfOption,
    JsonOption,
    KnownAtOption,
    SessionOption,
    UrlOption,
    UserOption,
)
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.selecting import SinceOption, UntilOption
from engram.cli.text import counted, excerpt, one_line
from engram.entities.memories.schemas import RelatedMemory, TimeOrder
from engram.memories.schemas import Memory

MemoryArgument = Annotated[str, typer.Argument(metavar="MEMORY_ID", help="As remember and recall show it.")]


def related(
    memory_id: MemoryArgument,
    user: UserOption = None,
    session: SessionOption = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show memories that share entities with one, the most telling first."""
    with connected(url) as client:
        found = client.memories.related(
            memory_id,
            user_id=user,
            session_id=session,
            as_of=as_of,
            known_at=known_at,
            limit=limit,
        )
    if as_json:
        write_json(found)
        return
    console = answers()
    if not found.data:
        console.print("It shares no entity with another.", style="dim")
        return
    console.print(_scored(found.data))
    more = "; there are more" if found.truncated else ""
    console.print(Text(f"{counted(len(found.data), 'memory', 'memories')}{more}", "dim"))


def backlinks(
    memory_id: MemoryArgument,
    user: UserOption = None,
    session: SessionOption = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories that name any entity of one, the latest to arrive first."""
    with connected(url) as client:
        listing = client.memories.backlinks(
            memory_id,
            user_id=user,
            session_id=session,
            as_of=as_of,
            known_at=known_at,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
    _show(found, limit, "It shares no entity with another.", as_json=as_json)


def timeline(
    entity: EntityArgument,
    agent: AgentOption = DEFAULT_AGENT,
    order: Annotated[TimeOrder, typer.Option("--order", help="What comes first.")] = TimeOrder.oldest,
    superseded: Annotated[bool, typer.Option("--superseded", help="Also memories that were superseded.")] = False,
    user: UserOption = None,
    session: SessionOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories that name an entity, in the order in which they began to hold."""
    with connected(url) as client:
        listing = client.memories.timeline(
            agent_id(client, agent),
            entity,
            order=order,
            include_superseded=superseded,
            user_id=user,
            session_id=session,
            valid_from=since,
            valid_until=until,
            as_of=as_of,
            known_at=known_at,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
    _show(found, limit, f"No such memory names {one_line(entity)}.", as_json=as_json)


def _show(found: list[Memory], limit: int, none: str, *, as_json: bool) -> None:
    if as_json:
        write_json({"data": [memory.model_dump(mode="json") for memory in found]})
        return
    console = answers()
    if not found:
        console.print(Text(none, "dim"))
        return
    console.print(table(found))
    more = ", and perhaps more" if len(found) == limit else ""
    console.print(Text(f"{counted(len(found), 'memory', 'memories')}{more}", "dim"))


def _scored(found: list[RelatedMemory]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    shown.add_column("Score", justify="right")
    shown.add_column("Memory", ratio=1)
    for memory in found:
        text = Text(excerpt(memory.content, 200))
        text.append(f"\n{excerpt(', '.join(memory.entities), 200)}", "cyan")
        text.append(f"\n{memory.id}", "dim")
        shown.add_row(f"{memory.score:.2f}", text)
    return shown
