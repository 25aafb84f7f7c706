"""Importing NDJSON: the fields of a memory under their usual names, a line each."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.cli.importing.entries import Defaults, Omission
from engram.cli.importing.formats import Format
from engram.cli.importing.lines import MAX_LINE_BYTES, numbered_lines
from engram.cli.importing.ndjson import read_ndjson
from engram.cli.importing.source import Source
from engram.memories.schemas import EntityRole

from .importing import flaws, memories, outcomes

VISIBLE = st.characters(categories=("L", "N", "P", "S", "M"))
TEXT = st.builds(lambda first, rest: first + rest, st.characters(categories=("L", "N")), st.text(max_size=60)).map(
    lambda text: text.replace("\x00", "")
)
LABEL = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20)
RECORD = st.fixed_dictionaries(
    {"content": TEXT},
    optional={
        "user_id": LABEL,
        "session_id": LABEL,
        "source": LABEL,
        "tags": st.lists(LABEL, max_size=4),
        "confidence": st.floats(0, 1),
        "metadata": st.dictionaries(LABEL, st.one_of(TEXT, st.integers(-1000, 1000), st.booleans()), max_size=4),
        "valid_from": st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)),
    },
)


def line(record: dict[str, Any], *, ascii: bool = False) -> str:
    return json.dumps(record, ensure_ascii=ascii, default=lambda moment: moment.isoformat())


@given(
    st.lists(RECORD, min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]),
    st.booleans(),
    st.booleans(),
)
def test_what_is_written_is_what_is_read(
    records: list[dict[str, Any]], ascii: bool, ending: str, bom: bool, ends: bool
) -> None:
    text = ending.join(line(record, ascii=ascii) for record in records) + (ending if ends else "")
    read = memories((b"\xef\xbb\xbf" if bom else b"") + text.encode(), ".ndjson")
    assert len(read) == len(records)
    for memory, record in zip(read, records, strict=True):
        for name, value in record.items():
            assert getattr(memory, name) == value


@given(st.lists(RECORD, max_size=6), st.data(), st.sampled_from(["{", "what?", "[]", "12", '"x"', '{"content": ""}']))
def test_a_malformed_line_is_named_by_its_number(records: list[dict[str, Any]], data: st.DataObject, bad: str) -> None:
    lines = [line(record) for record in records]
    at = data.draw(st.integers(0, len(lines)))
    lines.insert(at, bad)
    (flaw,) = flaws("\n".join(lines), ".ndjson")
    assert flaw.startswith(f"line {at + 1}: ")


def test_other_names_for_the_fields_are_understood() -> None:
    record = {"text": "Alice moved", "ts": "2026-05-01T10:00:00Z", "meta": {"a": 1}, "user": "u", "session": "s"}
    (memory,) = memories(line(record), ".ndjson")
    assert memory.content == "Alice moved"
    assert memory.valid_from == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert memory.metadata == {"a": 1}
    assert (memory.user_id, memory.session_id) == ("u", "s")


def test_fields_without_a_place_are_kept_as_metadata() -> None:
    (memory,) = memories(line({"text": "x", "channel": "general", "meta": {"a": 1}, "memory": "y"}), ".ndjson")
    assert memory.metadata == {"channel": "general", "a": 1, "memory": "y"}


def test_a_session_among_the_metadata_is_the_session() -> None:
    (memory,) = memories(line({"text": "x", "meta": {"session": "D1"}}), ".ndjson")
    assert memory.session_id == "D1"
    assert memory.metadata == {"session": "D1"}


def test_entities_keep_their_roles() -> None:
    (memory,) = memories(line({"text": "x", "entities": ["Bob", {"name": "Alice", "role": "subject"}]}), ".ndjson")
    assert [(entity.name, entity.role) for entity in memory.entities] == [
        ("Bob", EntityRole.mention),
        ("Alice", EntityRole.subject),
    ]


@pytest.mark.parametrize(
    "stamp", [1777629600, 1777629600.0, 1777629600000, 1777629600000000, "1777629600", "1777629600.000000"]
)
def test_moments_may_be_counted_from_1970(stamp: object) -> None:
    (memory,) = memories(line({"text": "x", "ts": stamp}), ".ndjson")
    assert memory.valid_from == datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("stamp", ["yesterday", "2026-13-01", 1e300, True, [1]])
def test_what_is_no_moment_is_malformed(stamp: object) -> None:
    (flaw,) = flaws(line({"text": "x", "ts": stamp}), ".ndjson")
    assert flaw.startswith("line 1: valid_from: ")


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"content": "x", "confidence": 2}, "confidence"),
        ({"content": "x", "tags": "a"}, "tags"),
        ({"content": "a\x00b"}, "content"),
        ({"content": 12}, "content"),
        ({"content": "x", "metadata": ["a"]}, "metadata"),
        ({"content": "x", "metadata": {"a": float("nan")}}, "metadata"),
        ({"title": "no text"}, "content"),
    ],
)
def test_what_a_memory_cannot_have_names_the_field(record: dict[str, Any], field: str) -> None:
    (flaw,) = flaws(line(record), ".ndjson")
    assert flaw.startswith(f"line 1: {field}: ")


def test_a_lone_surrogate_is_malformed() -> None:
    (flaw,) = flaws('{"content": "\\ud800"}', ".ndjson")
    assert flaw.startswith("line 1: content: ")


def test_what_is_not_utf_8_is_named_and_the_rest_is_read() -> None:
    found = outcomes(b'{"content": "a"}\n{"content": "\xff"}\n{"content": "c"}\n', ".ndjson")
    assert [type(entry).__name__ for entry in found] == ["MemoryItem", "Flaw", "MemoryItem"]
    assert str(found[1]).startswith("line 2: not UTF-8")


def test_json_that_is_nested_without_end_is_malformed() -> None:
    (flaw,) = flaws('{"content": "x", "metadata": ' + "[" * 100_000, ".ndjson")
    assert flaw.startswith("line 1: ")


def test_a_huge_line_is_named_and_the_rest_is_read() -> None:
    huge = b'{"content": "' + b"x" * MAX_LINE_BYTES + b'"}\n'
    first, second = numbered_lines(io.BytesIO(huge + b'{"content": "b"}\n'))
    assert str(first[1]).startswith("line 1: longer than")
    assert second == (2, '{"content": "b"}')


def test_the_longest_memory_can_be_imported() -> None:
    (memory,) = memories(line({"content": "é" * 2_000_000}, ascii=True), ".ndjson")
    assert len(memory.content) == 2_000_000
    (flaw,) = flaws(line({"content": "é" * 2_000_001}, ascii=True), ".ndjson")
    assert flaw.startswith("line 1: content: ")


def test_a_file_is_not_read_ahead_of_what_is_asked_for() -> None:
    stream = io.BytesIO(b'{"content": "one of many"}\n' * 10_000)
    assert len(list(islice(read_ndjson(Source(stream, "chat", ".ndjson")), 10))) == 10
    assert stream.tell() < 1000


def test_options_fill_in_what_lines_do_not_say() -> None:
    defaults = Defaults(user_id="u", session_id="s", tags=("imported", "old"))
    text = line({"text": "a"}) + "\n" + line({"text": "b", "user_id": "v", "session_id": "t", "tags": ["old", "x"]})
    first, second = memories(text, ".ndjson", defaults=defaults)
    assert (first.user_id, first.session_id, first.tags) == ("u", "s", ["imported", "old"])
    assert (second.user_id, second.session_id, second.tags) == ("v", "t", ["old", "x", "imported"])


def test_memories_have_no_session_unless_they_or_the_caller_name_one() -> None:
    (memory,) = memories(line({"text": "a"}), ".ndjson")
    assert memory.session_id is None


def test_lines_may_be_turns_and_conversations() -> None:
    turn = line({"role": "user", "content": "hello"})
    conversation = line({"id": "c1", "messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": None}]})
    found = outcomes(f"{turn}\n{conversation}", ".jsonl")
    assert [getattr(entry, "session_id", None) for entry in found] == ["chat", "c1", None]
    assert found[2] == Omission("line 2, message 2")


@pytest.mark.parametrize("suffix", [".json", ".txt", ""])
def test_ndjson_is_recognised_without_its_suffix(suffix: str) -> None:
    assert len(memories('{"content": "a"}\n{"content": "b"}\n', suffix)) == 2
    assert flaws('{"content": "a"\n{"content": "b"}\n', suffix)[0].startswith("line 1: not valid JSON")


def test_a_format_that_is_named_is_not_guessed() -> None:
    assert flaws("Alice: hello\n", format=Format.ndjson)[0].startswith("line 1: not valid JSON")
