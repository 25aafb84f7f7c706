"""``engram audit``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Annotated
from uuid import UUID

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.audit.schemas import Action, AuditEvent
from engram.cli.errors import CommandError
from engram.cli.options import UrlOption
from engram.cli.output import answers, write_json_line
from engram.cli.remote import connected
from engram.cli.text import counted, excerpt
from engram.client import Engram, NotFoundError

_SHOWN = 50
_TARGETS = 3
_PAGE = 200


def audit(
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", metavar="NAME", help="Only of this agent, by name; a deleted one by its id."),
    ] = None,
    action: Annotated[Action | None, typer.Option("--action", help="Only what was done so.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="DATE", help="Only what was done then or later.")] = (
        None
    ),
    until: Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only what was done before.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, help=f"At most so many; {_SHOWN}, or all with --json.", show_default=False
        ),
    ] = None,
    url: UrlOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, for programs: an export.")] = False,
) -> None:
    """Show who changed what and when, the latest first. Needs an admin's key in ENGRAM_API_KEY."""
    most = limit if limit is not None or as_json else _SHOWN
    with connected(url, patient=as_json) as client:
        listing = client.audit.list(
            agent_id=_agent_id(client, agent) if agent is not None else None,
            action=action,
            since=since,
            until=until,
            limit=min(most or _PAGE, _PAGE),
        )
        if as_json:
            for event in islice(listing, most):
                write_json_line(event)
            return
        found = list(islice(listing, most))
        names = _names(client, found)
    console = answers()
    if not found:
        console.print("Nothing was changed.", style="dim")
        return
    console.print(_table(found, names))
    console.print(Text(f"{counted(len(found), 'event')}{', and perhaps more' if len(found) == most else ''}", "dim"))


def _agent_id(client: Engram, agent: str) -> str:
    """By name or id. An id need not be of an agent that is still there."""
    with suppress(ValueError):
        return str(UUID(agent))
    for found in client.agents.list(name=agent, limit=1).data:
        return found.id
    raise CommandError(f"there is no agent {agent!r}; what was done to a deleted one is found by its id")


def _names(client: Engram, events: Iterable[AuditEvent]) -> dict[str, str]:
    """Names of agents by id: those that they have now, or had when they were deleted."""
    names = {}
    for event in events:
        if event.agent_id is None or event.agent_id in names:
            continue
        names[event.agent_id] = str(event.details.get("name") or event.agent_id)
        with suppress(NotFoundError):
            names[event.agent_id] = client.agents.get(event.agent_id).name
    return names


def _table(events: Iterable[AuditEvent], names: dict[str, str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("When (UTC), who", no_wrap=True)
    table.add_column("Action", no_wrap=True)
    table.add_column("What", ratio=1, overflow="fold")
    for event in events:
        what = Text(excerpt(_told(event, names), 200))
        for target in event.targets[:_TARGETS]:
            what.append(f"\n{target}", "dim")
        more = len(event.targets) - _TARGETS
        if more > 0:
            what.append(f"\nand {more:,} more", "dim")
        who = Text(f"{event.recorded_at:%Y-%m-%d %H:%M:%S}\n")
        who.append(f"{event.key_prefix}…" if event.key_prefix else event.actor.value, "cyan")
        table.add_row(who, event.action.value, what)
    return table


def _told(event: AuditEvent, names: dict[str, str]) -> str:
    """An event in words: whose it is, and its details."""
    agent = names.get(event.agent_id, event.agent_id) if event.agent_id is not None else None
    details = [
        f"{name.replace('_', ' ')} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in event.details.items()
        if not (name == "name" and value == agent)
    ]
    return ", ".join([f"agent {agent}"] * (agent is not None) + details)
