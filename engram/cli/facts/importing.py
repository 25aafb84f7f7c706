"""``engram facts import``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from engram.cli.errors import CommandError
from engram.cli.facts.lines import Format, Given, Line, read_facts
from engram.cli.importing.entries import Flaw
from engram.cli.importing.source import Source, open_source
from engram.cli.importing.writing import Refused, with_places
from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, UrlOption
from engram.cli.output import answers, write_error, write_json
from engram.cli.progress import progress_bar
from engram.cli.remote import connected
from engram.cli.text import counted, one_line
from engram.client import AgentScope, EngramError, UnprocessableEntityError
from engram.facts.schemas import MAX_BATCH

_SHOWN_FLAWS = 20


def import_facts(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What to import; - reads stdin.")],
    agent: AgentOption = DEFAULT_AGENT,
    format: Annotated[Format, typer.Option("--format", "-f", help="What the file is.")] = Format.auto,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="The user of facts that name none.")] = None,
    supersede: Annotated[
        bool, typer.Option("--supersede/--no-supersede", help="Whether facts that say nothing of it end others.")
    ] = True,
    from_line: Annotated[
        int, typer.Option("--from-line", metavar="N", min=1, help="Begin there: what is before it is stored already.")
    ] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the file, and write nothing.")] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Append the facts of a file, in its order.

    NDJSON: one JSON object a line, with the fields of a fact: subject, predicate, object, valid_from and so on.
    TSV: subject, predicate, object and, where known, valid_from and valid_until, with tabs between; a first line with
    these names is passed over.

    All is checked before anything is written. A fact that is appended twice is there twice: if an import breaks off, it
    says from which line to go on.
    """
    given = Given(format, user, supersede, from_line)
    with open_source(file) as source:
        total = _checked(source, given)
        written = _Written()
        if total and not dry_run:
            with connected(url, patient=True) as client, progress_bar("Writing", total) as progress:
                to = client.agent(agent)
                try:
                    for batch in _batches(read_facts(source, given)):
                        _append(to, batch, written)
                        progress(written.appended)
                except (EngramError, Refused) as error:
                    if written.appended:
                        write_error(_interrupted(written, total))
                    if isinstance(error, Refused):
                        raise CommandError(str(error)) from error
                    raise
    if as_json:
        write_json({"facts": total, "appended": written.appended, "ended": written.ended})
    elif dry_run:
        answers().print(f"{counted(total, 'fact')} could be appended; nothing was.")
    else:
        ended = f"; {counted(written.ended, 'fact')} from before ended" if written.ended else ""
        answers().print(f"Appended {counted(written.appended, 'fact')}{ended}.")


class _Written:
    """How many facts were appended, and the line to go on from."""

    def __init__(self) -> None:
        self.appended = 0
        self.ended = 0
        self.next_line = 1


def _checked(source: Source, given: Given) -> int:
    """How many facts a file holds. Raises CommandError where anything is malformed, having told where."""
    facts = flawed = 0
    with progress_bar("Checking", source.size) as progress:
        for line in read_facts(source, given):
            if isinstance(line, Line):
                facts += 1
            else:
                flawed += 1
                if flawed <= _SHOWN_FLAWS:
                    write_error(one_line(str(line)))
            progress(source.stream.tell())
    if flawed:
        untold = f"{flawed - _SHOWN_FLAWS:,} more like these; " if flawed > _SHOWN_FLAWS else ""
        raise CommandError(f"{untold}nothing was written: {counted(flawed, 'line')} malformed")
    return facts


def _batches(lines: Iterable[Line | Flaw]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    for line in lines:
        if isinstance(line, Flaw):
            raise Refused(f"the file has changed since it was checked: {line}")
        batch.append(line)
        if len(batch) == MAX_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _append(agent: AgentScope, batch: list[Line], written: _Written) -> None:
    try:
        result = agent.facts.append_many([line.fact for line in batch])
    except UnprocessableEntityError as error:
        raise Refused(with_places(error, [f"line {line.number}" for line in batch])) from error
    written.appended += len(batch)
    written.ended += len(result.closed)
    written.next_line = batch[-1].number + 1


def _interrupted(written: _Written, total: int) -> str:
    return (
        f"{written.appended:,} of {total:,} facts were appended before this failed; "
        f"for the rest, import the file again with --from-line {written.next_line}"
    )
