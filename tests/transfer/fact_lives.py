"""Facts that have lived: appended late and early, for several users, superseded, deleted, taken back and restored, with
merges said and undone. And what may be asked of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

NAMES = ("Alice", "ALICE ", "Bob", "Robert", "Acme Corp", "acme  corp", "Initech", "Köln", "東京タワー", "Austin")
PREDICATES = ("worksAt", "operates-in", "knows", "lives in")
USERS = (None, None, "u1")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


async def live(http: httpx.AsyncClient, agent_id: str, memories: Sequence[str], *, steps: int, seed: int) -> None:
    """Do so many things to the facts of an agent, by chance."""
    draw = random.Random(seed)
    facts: list[str] = []
    merges: list[str] = []
    for _ in range(steps):
        act = draw.choice((*("append",) * 6, *("batch",) * 2, "delete", "undo", "restore", "merge", "unmerge"))
        if act == "append":
            answer = await http.post("/v1/facts", json={"agent_id": agent_id, **_item(draw, memories)})
            assert answer.status_code == 201, answer.text
            facts.append(answer.json()["id"])
        elif act == "batch":
            items = [_item(draw, memories) for _ in range(draw.randrange(1, 6))]
            facts += (await http.post("/v1/facts/batch", json={"agent_id": agent_id, "items": items})).json()["ids"]
        elif act == "merge":
            name, other = draw.sample(NAMES, 2)
            body = {"agent_id": agent_id, "name": name, "other": other}
            if (answer := await http.post("/v1/facts/merge", json=body)).status_code == 201:
                merges.append(answer.json()["id"])
        elif act == "unmerge" and merges:
            await http.delete(f"/v1/facts/merge/{draw.choice(merges)}")
        elif act == "delete" and facts:
            await http.delete(f"/v1/facts/{draw.choice(facts)}")
        elif act in ("undo", "restore") and facts:
            await http.post(f"/v1/facts/{draw.choice(facts)}/{act}")


def _item(draw: random.Random, memories: Sequence[str]) -> dict[str, Any]:
    begins = BEGIN + timedelta(days=draw.randrange(60), microseconds=draw.randrange(9))
    item: dict[str, Any] = {
        "subject": draw.choice(NAMES),
        "predicate": draw.choice(PREDICATES),
        "object": draw.choice(NAMES),
        "user_id": draw.choice(USERS),
        "confidence": draw.choice((0.25, 1.0)),
        "valid_from": begins.isoformat(),
        "supersede": draw.random() < 0.8,
        "sources": draw.sample((*memories, "a chat", "another"), draw.randrange(3)),
    }
    if draw.random() < 0.3:
        item["valid_until"] = (begins + timedelta(days=draw.randrange(1, 60))).isoformat()
    return item


def questions(count: int, moments: Sequence[datetime], *, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Walks and lists, without their agent: the path, and what is asked. ``moments`` are what they ask about."""
    draw = random.Random(seed)
    asked: list[tuple[str, dict[str, Any]]] = []
    for _ in range(count):
        common: dict[str, Any] = {"user_id": draw.choice(USERS)}
        for name in ("valid_at", "known_at"):
            if draw.random() < 0.5:
                common[name] = draw.choice(moments).isoformat()
        common = {name: value for name, value in common.items() if value is not None}
        if draw.random() < 0.7:
            query = f"{draw.choice(NAMES)} {draw.choice(NAMES)}?"
            walk = {"query": query, "hops": draw.choice((1, 2, 3)), "limit": draw.choice((5, 50))}
            asked.append(("/v1/facts/recall-graph", {**common, **walk}))
        else:
            asked.append(("/v1/facts", {**common, "subject": draw.choice(NAMES), "limit": 50}))
    return asked


async def answers(http: httpx.AsyncClient, agent_id: str, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """What is answered, as it was sent, but for whose it is."""
    found = []
    for path, question in asked:
        body = {"agent_id": agent_id, **question}
        answer = await (http.get(path, params=body) if path == "/v1/facts" else http.post(path, json=body))
        assert answer.status_code == 200, answer.text
        found.append(answer.text.replace(agent_id, "AGENT"))
    return found
