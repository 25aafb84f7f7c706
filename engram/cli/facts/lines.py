"""Facts in a file: a JSON object or a row of tab-separated texts a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from engram.cli.errors import faults
from engram.cli.importing.entries import Flaw
from engram.cli.importing.lines import numbered_lines
from engram.cli.importing.ndjson import parse_object
from engram.cli.importing.source import Source
from engram.facts.schemas import FactItem

_COLUMNS = ("subject", "predicate", "object", "valid_from", "valid_until")
_REQUIRED = 3


class Format(StrEnum):
    auto = "auto"
    ndjson = "ndjson"
    tsv = "tsv"


@dataclass(frozen=True, slots=True)
class Given:
    """What is said of a whole file. ``user_id`` and ``supersede`` are for facts that say nothing of it themselves.

    ``from_line`` is the first line that is read.
    """

    format: Format
    user_id: str | None
    supersede: bool
    from_line: int


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    fact: FactItem


def read_facts(source: Source, given: Given) -> Iterator[Line | Flaw]:
    """The facts of all lines, or what is wrong with one. Blank lines count, and are passed over."""
    format, first = given.format, True
    for number, line in numbered_lines(source.rewind()):
        if isinstance(line, Flaw):
            if number >= given.from_line:
                yield line
            continue
        if not line.strip():
            continue
        if format is Format.auto:
            format = Format.ndjson if line.lstrip().startswith("{") else Format.tsv
        header = first and format is Format.tsv and _is_header(line)
        first = False
        if number >= given.from_line and not header:
            fields = parse_object(line) if format is Format.ndjson else _row(line)
            yield _fact(number, fields, given)


def _is_header(line: str) -> bool:
    names = tuple(name.strip().lower() for name in line.split("\t"))
    return len(names) >= _REQUIRED and names == _COLUMNS[: len(names)]


def _row(line: str) -> dict[str, Any] | str:
    texts = line.split("\t")
    if not _REQUIRED <= len(texts) <= len(_COLUMNS):
        return f"{len(texts)} columns, of {_REQUIRED} to {len(_COLUMNS)}: {', '.join(_COLUMNS)}, with tabs between"
    return dict(zip(_COLUMNS, texts, strict=False))


def _fact(number: int, fields: dict[str, Any] | str, given: Given) -> Line | Flaw:
    place = f"line {number}"
    if isinstance(fields, str):
        return Flaw(place, fields)
    stated = {
        name: value for name, value in fields.items() if value is not None and (value != "" or name in _COLUMNS[:3])
    }
    if given.user_id is not None:
        stated.setdefault("user_id", given.user_id)
    stated.setdefault("supersede", given.supersede)
    try:
        return Line(number, FactItem.model_validate(stated))
    except ValidationError as error:
        told = (
            fault.message if fault.field == "body" else f"{fault.field}: {fault.message}" for fault in faults(error)
        )
        return Flaw(place, "; ".join(told))
