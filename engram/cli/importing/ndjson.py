"""NDJSON: a JSON object a line, each a memory, a turn, or a whole conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engram.cli.importing.chat_json import conversation_entries, is_conversation
from engram.cli.importing.entries import Draft, Entry, Flaw, Omission
from engram.cli.importing.fields import is_message, memory_fields, message_fields
from engram.cli.importing.lines import numbered_lines
from engram.cli.importing.source import Source


def read_ndjson(source: Source) -> Iterator[Entry]:
    """The memories of all lines; blank ones count, and are passed over."""
    for number, line in numbered_lines(source.rewind()):
        if isinstance(line, Flaw):
            yield line
        elif line.strip():
            yield from _line_entries(line, f"line {number}", source)


def parse_object(text: str) -> dict[str, Any] | str:
    """A JSON object, or what is wrong with the text."""
    try:
        value = json.loads(text)
    except RecursionError:
        return "nested too deeply"
    except json.JSONDecodeError as error:
        return f"not valid JSON: {error.msg} (character {error.pos + 1})"
    except ValueError as error:
        return f"not valid JSON: {error}"
    return value if isinstance(value, dict) else "not a JSON object"


def _line_entries(line: str, place: str, source: Source) -> Iterator[Entry]:
    record = parse_object(line)
    if isinstance(record, str):
        yield Flaw(place, record)
    elif is_conversation(record):
        yield from conversation_entries(record, place, f"{source.name}, {place}")
    elif is_message(record):
        fields = message_fields(record)
        yield Draft(place, fields, source.name) if fields is not None else Omission(place)
    else:
        yield Draft(place, memory_fields(record))
