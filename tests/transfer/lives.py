"""Agents that have lived: memories of every kind, set, changed, superseded, restored and deleted, with edges that were
too. And what may be asked of them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from engram import AsyncEngram, EngramError

PEOPLE = ("Alice", "Bob", "Captain Nemo", "Zoë")
PLACES = ("Lisbon", "Porto", "the harbour", "Köln")
ACTS = ("moved to", "works at", "is afraid of", "wrote a report about", "met Bob in")
KEYS = ("home", "work/place", "mood")
USERS = (None, "u1", "u2")
SESSIONS = (None, "s1", "s2")
TAGS = ("work", "family", "blau")
RELATIONS = ("causal", "supports", "contradicts", "derived_from", "thematic")
ACTIONS = (*("write",) * 3, *("set",) * 2, "update", "supersede", "restore", "delete", *("edge",) * 2, "unlink")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


async def live(engram: AsyncEngram, agent_id: str, *, steps: int, seed: int) -> list[str]:
    """Do so many things to an agent, by chance; the ids of its memories, deleted ones too."""
    draw = random.Random(seed)
    ids: list[str] = []
    while steps > 0:
        steps -= 1
        try:
            made = await _step(engram, agent_id, ids, draw)
        except EngramError:
            continue  # what was deleted cannot be changed: that too is a life
        if made is not None and made not in ids:
            ids.append(made)
    return ids


async def _step(engram: AsyncEngram, agent_id: str, ids: list[str], draw: random.Random) -> str | None:
    scope: dict[str, Any] = {"user_id": draw.choice(USERS), "session_id": draw.choice(SESSIONS)}
    act = draw.choice(ACTIONS) if len(ids) > 3 else "write"
    one, other = draw.sample(ids, 2) if len(ids) > 1 else ("", "")
    match act:
        case "write":
            return (await engram.memories.create(agent_id, _text(draw), **scope, **_fields(draw))).id
        case "set":
            key = draw.choice(KEYS)
            return (await engram.memories.set(agent_id, key, _text(draw), **scope, **_fields(draw))).id
        case "update":
            await engram.memories.update(one, content=_text(draw), tags=draw.sample(TAGS, 1))
        case "supersede":
            return (await engram.memories.supersede(one, _text(draw))).id
        case "restore":
            await engram.memories.restore(one)
        case "delete":
            await engram.memories.delete(one)
        case "edge":
            relation = draw.choice(RELATIONS)
            fields = {"label": "because", "reason": "said so"} if draw.random() < 0.5 else {}
            await engram.graph.create_edge(one, other, relation, weight=draw.choice((0.25, 0.5, 1.0)), **fields)
        case "unlink":
            for edge in (await engram.graph.get_edges(one)).data[:1]:
                await engram.graph.delete_edge(one, edge.target_memory_id, edge.relation_type)
    return None


def _text(draw: random.Random) -> str:
    text = f"{draw.choice(PEOPLE)} {draw.choice(ACTS)} {draw.choice(PLACES)}"
    match draw.randrange(6):
        case 0:
            return f"{draw.choice(PEOPLE)}: {text}, did you know?"
        case 1:
            return f"{text}. " + " ".join(f"Day {n}: {draw.choice(PEOPLE)} {draw.choice(ACTS)} it." for n in range(30))
    return f"{text} on day {draw.randrange(40)}."


def _fields(draw: random.Random) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "tags": draw.sample(TAGS, draw.randrange(3)),
        "metadata": {"n": draw.randrange(5), "deep": {"x": [1.5, None, "ü"]}, "big": 10**30},
        "confidence": draw.choice((0.25, 0.5, 1.0)),
    }
    if draw.random() < 0.4:
        fields["valid_from"] = BEGIN + timedelta(days=draw.randrange(100), microseconds=draw.randrange(9))
        if draw.random() < 0.3:
            fields["valid_until"] = fields["valid_from"] + timedelta(days=draw.randrange(1, 400))
    if draw.random() < 0.5:
        fields["entities"] = [{"name": draw.choice(PEOPLE), "role": draw.choice(("subject", "mention"))}]
    return fields


def questions(count: int, moments: list[datetime], *, seed: int) -> list[dict[str, Any]]:
    """Bodies of recalls, without their agent. ``moments`` are what they ask about."""
    draw = random.Random(seed)
    asked = []
    for _ in range(count):
        question: dict[str, Any] = {
            "query": f"{draw.choice(PEOPLE)} {draw.choice(ACTS)} {draw.choice(PLACES)}?",
            "top_k": draw.choice((3, 10, 50)),
            "max_hops": draw.choice((0, 1, 2, 3)),
            "graph_weight": draw.choice((0.0, 0.4, 1.0)),
            "lexical": draw.random() < 0.8,
            "explain": draw.random() < 0.5,
            "diversity": draw.choice((0.0, 0.0, 0.5)),
        }
        options: dict[str, Any] = {
            "user_id": draw.choice(USERS),
            "session_id": draw.choice(SESSIONS),
            "tags": draw.choice((None, {"any": ["work"]}, {"none": ["family"]}, {"exact": []})),
            "metadata": draw.choice((None, {"n": {"gte": 2}})),
            "as_of": draw.choice((None, *moments)),
            "known_at": draw.choice((None, *moments)),
            "relation_types": draw.choice((None, None, ["causal", "entity_link"], ["temporal"])),
        }
        for name, value in options.items():
            if value is not None and draw.random() < 0.5:
                question[name] = value.isoformat() if isinstance(value, datetime) else value
        asked.append(question)
    return asked


async def answers(http: httpx.AsyncClient, agent_id: str, asked: list[dict[str, Any]]) -> list[str]:
    """What is recalled, as it was sent, but for how long that took and whose it is."""
    found = []
    for question in asked:
        response = await http.post("/v1/memories/recall", json={"agent_id": agent_id, **question})
        assert response.status_code == 200, response.text
        answer = response.json()
        answer.pop("took_ms")
        found.append(str(answer).replace(agent_id, "AGENT"))
    return found
