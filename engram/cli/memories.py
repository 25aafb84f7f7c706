"""``engram memories``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import (
    DEFAULT_AGENT,
    AgentOption,
    JsonOption,
    MetadataOption,
    SessionOption,
    TagsOption,
    UrlOption,
    UserOption,
    read_metadata,
)
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.selecting import (
    AsOfOption,
    KeyOption,
    KeyPrefixOption,
    SinceOption,
    SourceOption,
    UntilOption,
    UpdatedSinceOption,
)
from engram.cli.text import counted, excerpt, one_line
from engram.memories.schemas import Memory, MemoryStatus


def memories(
    agent: AgentOption = DEFAULT_AGENT,
    user: UserOption = None,
    session: SessionOption = None,
    tag: TagsOption = None,
    metadata: MetadataOption = None,
    key: KeyOption = None,
    key_prefix: KeyPrefixOption = None,
    source: SourceOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    known_at: Annotated[
        str | None, typer.Option("--known-at", metavar="DATE", help="As the server knew it at this moment.")
    ] = None,
    updated_since: UpdatedSinceOption = None,
    status: Annotated[MemoryStatus | None, typer.Option("--status", help="Only of this status.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what an agent remembers, the latest to arrive first; with several tags, what has any of them."""
    filters = read_metadata(metadata)
    with connected(url) as client:
        page = client.memories.list(
            agent_id(client, agent),
            user_id=user,
            session_id=session,
            tags=tag or None,
            metadata=filters,
            key=key,
            key_prefix=key_prefix,
            source=source,
            valid_from=since,
            valid_until=until,
            as_of=as_of,
            known_at=known_at,
            updated_since=updated_since,
            status=status,
            include_total=True,
            limit=min(limit, 200),
        )
        total = page.total
        found = list(islice(page, limit))
    if as_json:
        write_json({"data": [memory.model_dump(mode="json") for memory in found], "total": total})
        return
    console = answers()
    if not found:
        console.print("There are none.", style="dim")
        return
    console.print(table(found))
    shown = f"{len(found)} of " if total is not None and total > len(found) else ""
    console.print(Text(f"{shown}{counted(total or len(found), 'memory', 'memories')}", "dim"))


def table(found: Iterable[Memory]) -> Table:
    """Memories, each with when it began to hold and what it is filed under."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    shown.add_column("Since", no_wrap=True)
    shown.add_column("Memory", ratio=1)
    for memory in found:
        text = Text(excerpt(memory.content, 200))
        filed = [memory.key, memory.user_id, memory.session_id, *(f"#{tag}" for tag in memory.tags)]
        if about := " ".join(one_line(name) for name in filed if name):
            text.append(f"\n{about}", "cyan")
        state = "" if memory.status is MemoryStatus.current else f" {memory.status.value}"
        text.append(f"\n{memory.id}{state}", "dim")
        shown.add_row(f"{memory.valid_from:%Y-%m-%d %H:%M}", text)
    return shown
