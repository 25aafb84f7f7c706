"""``engram import``."""

from __future__ import annotations

from typing import Annotated

import typer

from engram.cli.errors import CommandError
from engram.cli.importing.entries import Defaults
from engram.cli.importing.exports import Making, check_export, is_export, make
from engram.cli.importing.formats import Format, Reader, reader_for
from engram.cli.importing.source import Source, open_source
from engram.cli.importing.writing import Checked, Refused, Written, check, write
from engram.cli.options import DEFAULT_AGENT, JsonOption, TagsOption, UrlOption
from engram.cli.output import answers, write_error, write_json
from engram.cli.progress import progress_bar
from engram.cli.remote import connected
from engram.cli.text import counted, one_line
from engram.client import EngramError


def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What to import; - reads stdin.")],
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            "-a",
            metavar="NAME",
            help=f"The agent, by name or id; default: {DEFAULT_AGENT}, or the name that an export has.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="What the file is.")] = Format.auto,
    user: Annotated[
        str | None, typer.Option("--user", metavar="ID", help="The user of memories that name none.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Their session, likewise; a chat's is the file's name otherwise."),
    ] = None,
    tag: TagsOption = None,
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Of an export: make all ids anew, to stand beside what was exported.")
    ] = False,
    reembed: Annotated[bool, typer.Option("--reembed", help="Of an export: make its vectors anew.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the file, and write nothing.")] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import memories, a conversation, or an agent.

    NDJSON: one JSON object a line, with the fields of a memory or text, ts and meta; other fields are kept as metadata.
    A chat in JSON: a list of messages with role and content, or an object that holds one as messages.
    A chat in plain text: lines 'Name: text', each with '[2026-05-01 12:00]' in front or without.
    What engram export wrote: it becomes an agent, of its own name or --agent, wholly or not at all.

    All is checked before anything is written. What is there already is not written again.
    """
    defaults = Defaults(user, session, tuple(tag or ()))
    with open_source(file) as source:
        if format is Format.export or (format is Format.auto and is_export(source)):
            if user is not None or session is not None or tag:
                raise CommandError("an export says itself of which user and session its memories are, and their tags")
            making = Making(agent, new_ids, reembed)
            _agent(source, making, url, dry_run=dry_run, as_json=as_json)
            return
        if new_ids or reembed:
            raise CommandError("this is no export of an agent: --new-ids and --reembed are for those")
        reader = reader_for(source, format)
        checked = _checked(source, reader, defaults)
        written = Written()
        if checked.memories and not dry_run:
            with connected(url, patient=True) as client, progress_bar("Writing", checked.memories) as progress:
                try:
                    write(client.agent(agent or DEFAULT_AGENT), source, reader, defaults, written, progress)
                except (EngramError, Refused) as error:
                    if written.handled:
                        write_error(_interrupted(written, checked))
                    if isinstance(error, Refused):
                        raise CommandError(str(error)) from error
                    raise
    if as_json:
        write_json(_summary(checked, written))
    else:
        _show(checked, written, dry_run=dry_run)


def _agent(source: Source, making: Making, url: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Make an agent of an export, and say what it was made of."""
    if dry_run:
        counts, answer = check_export(source), None
    else:
        with connected(url, patient=True) as client:
            answer = make(client, source, making)
        counts = answer.counts
    if as_json:
        write_json(answer if answer is not None else counts)
        return
    held = f"{counted(counts.memory, 'memory', 'memories')} and {counted(counts.edge, 'edge')}"
    if answer is None:
        answers().print(f"An agent with {held} could be made; nothing was.")
    else:
        answers().print(f"Made the agent {answer.agent.name!r} of {held}.", markup=False)


def _checked(source: Source, reader: Reader, defaults: Defaults) -> Checked:
    """What the file holds. Raises CommandError where anything is malformed, having told where."""
    with progress_bar("Checking", source.size) as progress:
        checked = check(source, reader, defaults, progress)
    if not checked.flawed:
        return checked
    for flaw in checked.flaws:
        write_error(one_line(str(flaw)))
    untold = checked.flawed - len(checked.flaws)
    more = f"{untold:,} more like these; " if untold else ""
    raise CommandError(f"{more}nothing was written: {counted(checked.flawed, 'entry', 'entries')} malformed")


def _interrupted(written: Written, checked: Checked) -> str:
    return (
        f"{written.handled:,} of {checked.memories:,} memories were written before this failed; "
        "import the file again for the rest"
    )


def _summary(checked: Checked, written: Written) -> dict[str, object]:
    return {
        "memories": checked.memories,
        "created": written.created,
        "already_there": written.deduplicated,
        "left_out": checked.omitted,
        "linked": written.linked,
    }


def _show(checked: Checked, written: Written, *, dry_run: bool) -> None:
    console = answers()
    if dry_run:
        console.print(f"{counted(checked.memories, 'memory', 'memories')} could be written; nothing was.")
    else:
        console.print(f"Created {written.created:,}, already there {written.deduplicated:,}.")
    if checked.omitted:
        console.print(f"{counted(checked.omitted, 'message')} without text left out.")
    if not written.linked:
        console.print("Some links could not be made yet; the server tries again.")
