"""``engram forget``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from engram.cli.errors import CommandError
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
from engram.cli.remote import agent_id, connected, texts_of
from engram.cli.selecting import (
    AsOfOption,
    KeyOption,
    KeyPrefixOption,
    SinceOption,
    SourceOption,
    UntilOption,
    UpdatedSinceOption,
)
from engram.cli.text import counted, excerpt
from engram.client import Engram
from engram.memories.schemas import MemoriesDeleted

_SHOWN = 5


def forget(
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
    updated_since: UpdatedSinceOption = None,
    everything: Annotated[bool, typer.Option("--all", help="All that the agent remembers.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Delete nothing; say what would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete the memories that match, after showing how many; with several tags, what has any of them."""
    asked: dict[str, Any] = {
        "user_id": user,
        "session_id": session,
        "tags": tag or None,
        "metadata": read_metadata(metadata),
        "key": key,
        "key_prefix": key_prefix,
        "source": source,
        "valid_from": since,
        "valid_until": until,
        "as_of": as_of,
        "updated_since": updated_since,
        "all": everything or None,
    }
    if not any(value for name, value in asked.items() if name != "as_of"):
        raise CommandError("say which memories: by --user, --tag, --key or another option that chooses, or --all")
    with connected(url, patient=True) as client:
        whose = agent_id(client, agent)
        preview = client.memories.delete_many(whose, dry_run=True, **asked)
        if not dry_run and not yes and preview.matched:
            _show(client, preview)
            _ask(preview)
        done = preview if dry_run else _delete(client, whose, asked)
        if as_json:
            write_json(done)
        elif dry_run:
            _show(client, done)
        else:
            answers().print(f"Deleted {counted(done.deleted, 'memory', 'memories')}.", markup=False)


def _ask(preview: MemoriesDeleted) -> None:
    """Raises CommandError where nobody can be asked, and typer's Abort where the answer is no."""
    if not sys.stdin.isatty():
        raise CommandError("say --yes to delete them, or --dry-run to see how many there are")
    typer.confirm(f"Delete {counted(preview.matched, 'memory', 'memories')}?", abort=True, err=True)


def _delete(client: Engram, whose: str, asked: dict[str, Any]) -> MemoriesDeleted:
    """All that match, in as many calls as it takes."""
    first = done = client.memories.delete_many(whose, **asked)
    deleted = done.deleted
    while done.remaining:
        done = client.memories.delete_many(whose, **asked)
        deleted += done.deleted
    return MemoriesDeleted(matched=first.matched, deleted=deleted, remaining=0)


def _show(client: Engram, preview: MemoriesDeleted) -> None:
    console = answers()
    console.print(f"{counted(preview.matched, 'memory', 'memories')} would be deleted.", markup=False)
    for id, text in texts_of(client, preview.sample[:_SHOWN]).items():
        console.print(Text(f"  {excerpt(text, 100)}").append(f"  {id}", "dim"))
    if preview.matched > _SHOWN:
        console.print(Text("  ...", "dim"))
