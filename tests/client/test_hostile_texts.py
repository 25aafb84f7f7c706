"""Texts that cannot be sent, or not be stored: an error that says so, by name, and never a crash on the way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from engram import Engram, EngramError, UnprocessableEntityError
from tests.contract.hostile import SAMPLES

Call = Callable[[Engram, str], Any]

CALLS: dict[str, Call] = {
    "create an agent": lambda client, text: client.agents.create(text),
    "its metadata": lambda client, text: client.agents.create("a", metadata={text: text}),
    "its language": lambda client, text: client.agents.create("a", language=text),
    "find an agent": lambda client, text: client.agents.list(name=text),
    "get an agent": lambda client, text: client.agents.get(text),
    "page of agents": lambda client, text: client.agents.list(cursor=text),
    "get a memory": lambda client, text: client.memories.get(text),
    "delete a memory": lambda client, text: client.memories.delete(text),
    "remember": lambda client, text: client.memories.create(client.agents.create("a").id, text),
    "remember for": lambda client, text: client.memories.create(text, "x"),
    "remember many": lambda client, text: client.memories.create_many(client.agents.create("a").id, [text]),
    "tags": lambda client, text: client.memories.create(client.agents.create("a").id, "x", tags=[text]),
    "entities": lambda client, text: client.memories.create(client.agents.create("a").id, "x", entities=[text]),
    "recall": lambda client, text: client.memories.recall(client.agents.create("a").id, text),
    "filters": lambda client, text: client.memories.recall(
        client.agents.create("a").id, "x", user_id=text, metadata={text: text}
    ),
    "list": lambda client, text: client.memories.list(client.agents.create("a").id, tag=text),
    "edges": lambda client, text: client.graph.get_edges(text),
}


def test_a_text_is_answered_or_refused_by_name(live_server: str) -> None:
    with Engram(live_server, max_retries=0) as client:
        for name, text in product(CALLS, SAMPLES[::3]):
            error = caught(CALLS[name], client, text)
            str(error).encode("utf-8")  # can be printed
            if isinstance(error, UnprocessableEntityError):
                assert error.errors, (name, text)
                assert all(wrong.field and wrong.message for wrong in error.errors), (name, text)
            elif error is not None:
                # A slash makes another address of an id.
                assert name in ("get an agent", "get a memory", "delete a memory"), (text, error)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\x00", "\n", "🙂", "a b"])
def test_a_client_cannot_be_made_of_what_is_no_address_or_no_key(text: str) -> None:
    for options in ({"base_url": text}, {"base_url": f"http:{text}"}, {"api_key": f"a{text}b"}):
        if options != {"api_key": "aa bb"}:  # which a header can carry
            with pytest.raises(EngramError) as refusal:
                Engram(**options)
            str(refusal.value).encode("utf-8")


def caught(call: Call, client: Engram, text: str) -> EngramError | None:
    try:
        call(client, text)
    except EngramError as error:
        return error
    return None
