"""Conversations in JSON, as chat programs and their exports have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engram.cli.importing.entries import Draft, Entry, Flaw, Omission
from engram.cli.importing.fields import message_fields
from engram.cli.importing.source import Source

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024

_MESSAGES = ("messages", "chat_messages", "conversation", "conversations", "turns")
_ID = ("session_id", "conversation_id", "thread_id", "id", "uuid")


def read_chat_json(source: Source) -> Iterator[Entry]:
    """The turns of one JSON document: a list of messages, an object that holds one, or several such objects."""
    document = _document(source)
    if isinstance(document, Flaw):
        yield document
        return
    conversations = _conversations(document)
    if conversations is None:
        yield Flaw("the file", "holds no conversation that is known: a list of messages, or an object with 'messages'")
    elif len(conversations) == 1:
        # One file, one session: it is the file's where the conversation has no id.
        yield from conversation_entries(conversations[0], "", source.name)
    else:
        for number, conversation in enumerate(conversations, start=1):
            place = f"conversation {number}"
            yield from conversation_entries(conversation, place, f"{source.name}, {place}")


def is_conversation(record: Mapping[str, Any]) -> bool:
    return _messages(record) is not None


def conversation_entries(conversation: Any, place: str, session_id: str) -> Iterator[Entry]:
    """The turns of one conversation. ``session_id`` is theirs where the conversation has no id."""
    messages = _messages(conversation) if isinstance(conversation, dict) else None
    if messages is None:
        yield Flaw(place, "not a conversation: an object with a list of 'messages'")
        return
    named = (conversation.get(name) for name in _ID)
    session = next((id for id in named if isinstance(id, str) and id.strip()), session_id)
    for number, message in enumerate(messages, start=1):
        where = f"{place}, message {number}" if place else f"message {number}"
        if not isinstance(message, dict):
            yield Flaw(where, "not a JSON object")
            continue
        fields = message_fields(message)
        yield Draft(where, fields, session) if fields is not None else Omission(where)


def _document(source: Source) -> Any:
    stream = source.rewind()
    if source.size > MAX_DOCUMENT_BYTES:
        size = f"{MAX_DOCUMENT_BYTES // 1024 // 1024} MiB"
        return Flaw("the file", f"a JSON document of more than {size}; write one message a line (NDJSON)")
    try:
        return json.loads(stream.read().decode())
    except UnicodeDecodeError as error:
        return Flaw("the file", f"not UTF-8 (byte {error.start + 1})")
    except json.JSONDecodeError as error:
        return Flaw(f"line {error.lineno}", f"not valid JSON: {error.msg} (column {error.colno})")
    except RecursionError:
        return Flaw("the file", "nested too deeply")
    except ValueError as error:
        return Flaw("the file", f"not valid JSON: {error}")


def _conversations(document: Any) -> list[Any] | None:
    if isinstance(document, dict):
        messages = _messages(document)
        if messages is None:
            return None
        held = isinstance(messages, list) and any(isinstance(one, dict) and is_conversation(one) for one in messages)
        return list(messages) if held else [document]
    if not isinstance(document, list):
        return None
    held = any(isinstance(one, dict) and is_conversation(one) for one in document)
    return document if held else [{"messages": document}]


def _messages(record: Mapping[str, Any]) -> list[Any] | None:
    for name in _MESSAGES:
        if isinstance(record.get(name), list):
            messages: list[Any] = record[name]
            return messages
    mapping = record.get("mapping")
    return _branch(mapping, record.get("current_node")) if isinstance(mapping, dict) else None


def _branch(mapping: Mapping[str, Any], node: Any) -> list[Any]:
    """The messages from the root of a tree to a node: of answers that were tried again, only the one that stayed."""
    messages = []
    seen = set()
    while isinstance(node, str) and isinstance(mapping.get(node), dict) and node not in seen:
        seen.add(node)
        message = mapping[node].get("message")
        if message is not None:
            messages.append(message)
        node = mapping[node].get("parent")
    return messages[::-1]
