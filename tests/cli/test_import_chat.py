"""Importing conversations, in JSON and in plain text: a memory a turn, its speaker kept, one session a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.cli.errors import CommandError
from engram.cli.importing.entries import Defaults, Omission

from .importing import flaws, memories, outcomes

WORD = st.text(st.characters(categories=("L", "N", "So")), min_size=1, max_size=12)
LINE = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
NAME = st.sampled_from(["Alice", "Bob de Souza", "Dr Salgado", "小明", "alice99", "O'Neill", "Åsa Öberg"])
MOMENT = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(microsecond=0))
TURN = st.tuples(NAME, st.lists(LINE, min_size=1, max_size=3), st.none() | MOMENT)


def transcript(turns: list[tuple[str, list[str], datetime | None]], style: str, gap: str) -> str:
    written = []
    for speaker, lines, moment in turns:
        stamp = style.format(moment.isoformat(" ")) if moment else ""
        written.append(f"{stamp}{speaker}: " + "\n".join(lines))
    return gap.join(written)


@given(
    st.lists(TURN, min_size=1, max_size=6),
    st.sampled_from(["[{}] ", "({}) ", "{} ", "[{}] - "]),
    st.sampled_from(["\n", "\n\n", "\n \n\n"]),
    st.booleans(),
    st.booleans(),
)
def test_what_a_transcript_says_is_what_is_read(
    turns: list[tuple[str, list[str], datetime | None]], style: str, gap: str, crlf: bool, bom: bool
) -> None:
    text = transcript(turns, style, gap)
    data = text.replace("\n", "\r\n" if crlf else "\n").encode()
    read = memories((b"\xef\xbb\xbf" if bom else b"") + data)
    assert len(read) == len(turns)
    for memory, (speaker, lines, moment) in zip(read, turns, strict=True):
        assert memory.content == f"{speaker}: " + "\n".join(lines)
        assert memory.metadata == {"speaker": speaker}
        assert memory.valid_from == (moment.replace(tzinfo=UTC) if moment else None)
        assert memory.session_id == "chat"


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": LINE},
    optional={"name": NAME, "timestamp": MOMENT},
)


@given(st.lists(MESSAGE, min_size=1, max_size=6), st.booleans(), st.integers(0, 2), st.booleans())
def test_what_messages_say_is_what_is_read(
    messages: list[dict[str, Any]], wrapped: bool, indent: int, ascii: bool
) -> None:
    document = {"messages": messages} if wrapped else messages
    text = json.dumps(document, default=str, indent=indent or None, ensure_ascii=ascii)
    read = memories(text, ".json")
    assert len(read) == len(messages)
    for memory, message in zip(read, messages, strict=True):
        name = message.get("name")
        assert memory.content == (f"{name}: {message['content']}" if name else message["content"])
        assert memory.metadata["speaker"] == name or message["role"]
        assert memory.session_id == "chat"
        moment = message.get("timestamp")
        assert memory.valid_from == (moment.replace(tzinfo=UTC) if moment else None)


def test_the_same_conversation_is_the_same_session_however_it_is_laid_out() -> None:
    document = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    assert memories(json.dumps(document), ".json") == memories(json.dumps(document, indent=2), ".json")


def test_parts_of_a_message_are_joined_and_what_is_no_text_is_named() -> None:
    picture = {"type": "image_url", "image_url": {}}
    content = [{"type": "text", "text": "Look at"}, picture, {"type": "text", "text": "this"}]
    (memory,) = memories(json.dumps([{"role": "user", "content": content}]))
    assert memory.content == "Look at\n\nthis"
    assert memory.metadata == {"left_out": ["image_url"], "speaker": "user"}


@pytest.mark.parametrize("content", [None, "", "  ", [], [{"type": "image_url", "image_url": {}}]])
def test_a_message_without_text_is_counted_and_not_kept(content: object) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": content, "tool_calls": []}]
    assert outcomes(json.dumps(messages))[1] == Omission("message 2")


def test_several_conversations_are_several_sessions() -> None:
    conversations = [
        {"id": "monday", "messages": [{"role": "user", "content": "a"}]},
        {"messages": [{"role": "user", "content": "b"}]},
    ]
    for document in (conversations, {"conversations": conversations}):
        assert [memory.session_id for memory in memories(json.dumps(document))] == ["monday", "chat, conversation 2"]


def test_other_programs_names_are_understood() -> None:
    forms = [
        {"conversations": [{"from": "human", "value": "hi"}]},
        {"chat_messages": [{"sender": "human", "text": "hi"}]},
        {"messages": [{"speaker": "human", "message": "hi"}]},
    ]
    for form in forms:
        (memory,) = memories(json.dumps(form))
        assert (memory.content, memory.metadata) == ("hi", {"speaker": "human"})


def test_of_a_tree_of_messages_the_branch_that_stayed_is_read() -> None:
    def message(role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"author": {"role": role}, "content": content, "create_time": 1777629600.5}

    mapping = {
        "root": {"message": None, "parent": None},
        "question": {"message": message("user", "Who?"), "parent": "root"},
        "refused": {"message": message("assistant", "No"), "parent": "question"},
        "answer": {"message": message("assistant", "Alice"), "parent": "question"},
    }
    document = [{"id": "c9", "title": "Names", "mapping": mapping, "current_node": "answer"}]
    first, second = memories(json.dumps(document), ".json")
    assert (first.content, second.content) == ("Who?", "Alice")
    assert (first.session_id, second.metadata["speaker"]) == ("c9", "assistant")
    assert first.valid_from == datetime(2026, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ('[{"role": "user", "content": "a"},\n {"role": "user" "content": "b"}]', "line 2: not valid JSON"),
        ('[{"role": "user", "content": "a"}, "b"]', "message 2: not a JSON object"),
        ('[{"role": "user", "content": 12}]', "message 1: content: "),
        ('[{"messages": []}, {"title": "x"}]', "conversation 2: not a conversation"),
        ("{\n}", "the file: holds no conversation"),
        ("[" * 100_000, "the file: nested too deeply"),
        (b'[{"role": "user", "content": "\xff"}]', "the file: not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_document_is_told_with_its_place(document: str | bytes, told: str) -> None:
    (flaw,) = flaws(document, ".json")
    assert flaw.startswith(told)


def test_lines_and_paragraphs_that_open_no_turn_belong_to_the_one_before() -> None:
    text = "Alice: Three things:\n- tea\n\nand https://example.org: a page\nHere is the last one: bread\nBob: ok"
    first, second = memories(text)
    assert first.content == text.partition("\nBob")[0]
    assert second.content == "Bob: ok"


def test_roles_are_kept_beside_the_text_and_not_in_it() -> None:
    first, second = memories("user: I like tea\nassistant: Noted")
    assert (first.content, first.metadata) == ("I like tea", {"speaker": "user"})
    assert (second.content, second.metadata) == ("Noted", {"speaker": "assistant"})


def test_text_may_begin_on_the_next_line() -> None:
    (memory,) = memories("Alice:\n  Hello\n")
    assert memory.content == "Alice: Hello"


def test_a_full_width_colon_needs_no_space() -> None:
    first, _second = memories("小明：你好\n小红：再见")
    assert first.metadata == {"speaker": "小明"}


def test_a_time_of_day_is_kept_beside_the_text() -> None:
    (memory,) = memories("[00:12:05] Alice: Hello")
    assert memory.metadata == {"speaker": "Alice", "time": "00:12:05"}
    assert memory.valid_from is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("A title\nAlice: hello", "line 1: belongs to no turn"),
        ("Alice: hello\n\nBob:\n\nAlice: there?", "line 3: Bob says nothing"),
        ("Alice: hello\n[5/1/24, 10:00:00 AM] Bob: hi", "line 2: the timestamp '5/1/24, 10:00:00 AM' is not ISO 8601"),
        ("[2026-02-30 10:00] Alice: hello", "line 1: valid_from: "),
        (b"Alice: hello\nBob: \xff", "line 2: not UTF-8"),
        ("Alice: a\x00b", "line 1: content: "),
    ],
)
def test_what_is_wrong_with_a_transcript_is_told_with_its_line(text: str | bytes, told: str) -> None:
    (flaw,) = flaws(text)
    assert flaw.startswith(told)


def test_a_turn_without_end_is_refused_and_not_kept() -> None:
    (flaw,) = flaws("Alice: hello\n" + "and more of it\n" * 150_000)
    assert flaw.startswith("line 1: content: ")


def test_a_session_that_is_given_is_everyones() -> None:
    (memory,) = memories("Alice: hello", defaults=Defaults(session_id="s"))
    assert memory.session_id == "s"


def test_utf_16_is_named_for_what_it_is() -> None:
    with pytest.raises(CommandError, match="UTF-16"):
        memories("Alice: hello".encode("utf-16"))
