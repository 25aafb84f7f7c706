"""Which format a file is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import islice

from engram.cli.importing.chat_json import is_conversation, read_chat_json
from engram.cli.importing.chat_text import read_chat_text
from engram.cli.importing.entries import Entry, Flaw
from engram.cli.importing.lines import numbered_lines
from engram.cli.importing.ndjson import parse_object, read_ndjson
from engram.cli.importing.source import Source

Reader = Callable[[Source], Iterator[Entry]]

_NDJSON_SUFFIXES = (".ndjson", ".jsonl")
_OPENING_BYTES = 4096


class Format(StrEnum):
    auto = "auto"
    ndjson = "ndjson"
    chat = "chat"
    export = "export"
    """What `engram export` wrote."""


def reader_for(source: Source, format: Format) -> Reader:
    """What reads this file. For ``auto`` its name and its beginning decide, for ``chat`` its beginning."""
    if format is Format.ndjson or (format is Format.auto and source.suffix in _NDJSON_SUFFIXES):
        return read_ndjson
    opening = source.rewind().read(_OPENING_BYTES).decode(errors="replace").lstrip()
    if opening.startswith("{"):
        return _reader_of_objects(source)
    # A transcript may open with a bracket too, which then holds a timestamp.
    is_list = opening.startswith("[") and opening[1:].lstrip()[:1] in ("{", "[", '"', "]", "")
    return read_chat_json if is_list else read_chat_text


def _reader_of_objects(source: Source) -> Reader:
    """By the first two lines that are not blank, one of which may be malformed: one object a line, or one in all."""
    lines = (line for _, line in numbered_lines(source.rewind()) if isinstance(line, Flaw) or line.strip())
    first_two = list(islice(lines, 2))
    objects = [parse_object(line) for line in first_two if isinstance(line, str)]
    alone = len(first_two) == 1 and isinstance(objects[0], dict) and is_conversation(objects[0])
    return read_ndjson if any(isinstance(one, dict) for one in objects) and not alone else read_chat_json
