"""A server that is a function, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

Handler = Callable[[httpx.Request], httpx.Response]

MEMORY_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
OTHER_ID = "01890a5d-ac96-774b-bcce-b302099a8058"
AGENT_ID = "01890a5d-ac96-774b-bcce-b302099a8059"
NOW = "2026-05-01T12:00:00Z"

AGENT = {
    "id": AGENT_ID,
    "name": "support-bot",
    "metadata": {},
    "language": "english",
    "created_at": NOW,
    "updated_at": NOW,
}
MEMORY = {
    "id": MEMORY_ID,
    "agent_id": AGENT_ID,
    "content": "User is a software engineer",
    "user_id": None,
    "session_id": None,
    "tags": [],
    "metadata": {},
    "source": None,
    "confidence": 1.0,
    "valid_from": NOW,
    "valid_until": None,
    "recorded_at": NOW,
    "updated_at": NOW,
    "status": "current",
}
DETAIL = {**MEMORY, "entities": []}
CREATED = {**DETAIL, "deduplicated": False, "linked": True}
EDGE = {
    "relation_type": "thematic",
    "source_memory_id": MEMORY_ID,
    "target_memory_id": OTHER_ID,
    "direction": "both",
    "weight": 0.5,
    "decay_multiplier": 0.95,
    "origin": "thematic",
}
HIT = {
    **MEMORY,
    "score": 0.9,
    "vector_score": 0.9,
    "lexical_score": 0.0,
    "graph_score": 0.0,
    "hops": 0,
    "path": [],
}
RECALLED = {"results": [HIT], "query": "work?", "took_ms": 1.5, "truncated": False}


class Server:
    """Answers what it was told to, in turn, the last for ever; remembers what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception | dict[str, Any] | Handler) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            return httpx.Response(200, json=answer)
        if isinstance(answer, httpx.Response):
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
        return answer(request)

    @property
    def asked(self) -> httpx.Request:
        """The one request there was."""
        (request,) = self.requests
        return request

    @property
    def body(self) -> Any:
        return json.loads(self.asked.content)
