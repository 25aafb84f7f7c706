"""``engram remember``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

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
from engram.cli.remote import connected


def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads it from stdin.")],
    agent: AgentOption = DEFAULT_AGENT,
    user: UserOption = None,
    session: SessionOption = None,
    subject: Annotated[
        list[str] | None,
        typer.Option("--subject", "-s", metavar="NAME", help="Who or what it is about; may be repeated."),
    ] = None,
    entity: Annotated[
        list[str] | None,
        typer.Option("--entity", "-e", metavar="NAME", help="Who or what it mentions; may be repeated."),
    ] = None,
    tag: TagsOption = None,
    metadata: MetadataOption = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="DATE", help="When it began to hold, in ISO 8601; default: now."),
    ] = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a memory. The same text in the same scope is stored once."""
    fields = read_metadata(metadata)
    content = _from_stdin() if text == "-" else text
    entities: list[str | dict[str, Any]] = [{"name": name, "role": "subject"} for name in subject or ()]
    entities += entity or ()
    with connected(url) as client:
        memory = client.agent(agent).memories.create(
            content,
            entities=entities or None,
            user_id=user,
            session_id=session,
            tags=tag or None,
            metadata=fields,
            valid_from=at,
        )
    if as_json:
        write_json(memory)
        return
    console = answers()
    console.print("Already there:" if memory.deduplicated else "Remembered:", memory.id, markup=False, soft_wrap=True)
    if not memory.linked:
        console.print("Its links could not be made yet; the server tries again.", markup=False)


def _from_stdin() -> str:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise CommandError(f"stdin is not UTF-8 (byte {error.start})") from None
    if not text:
        raise CommandError("there is nothing on stdin to remember")
    return text
