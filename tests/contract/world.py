"""Agents, memories and edges that exist: of a server that knows nothing, every question is answered 404."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import requests
import schemathesis
from schemathesis import Case, HookContext
from schemathesis.hooks import unregister

_LEFT_ALONE = "0"
"""Ids that end so are left as they were drawn; most name nothing."""


@dataclass(frozen=True)
class World:
    """What stands on the server at ``url``."""

    url: str
    agent_id: str
    memory_ids: tuple[str, ...]

    @classmethod
    def made(cls, url: str, name: str) -> World:
        agent_id = _posted(f"{url}/v1/agents", name=name)
        texts = ("Alice moved to Lisbon.", "Bob stays in Porto.", "Alice works at the harbour.")
        world = cls(url, agent_id, ())
        return cls(url, agent_id, tuple(world._remember(text) for text in texts))

    @contextmanager
    def inhabited(self) -> Iterator[None]:
        """Requests have ids of what exists in place of most that were drawn."""

        def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
            existing = self._existing(case)
            for place in (case.path_parameters, case.query, case.body):
                for name in existing.keys() & (place.keys() if isinstance(place, dict) else ()):
                    # What is drawn may have been seen in an answer. Nothing is deleted that others need.
                    if _is_id(place[name]) and (case.method == "DELETE" or not place[name].endswith(_LEFT_ALONE)):
                        place[name] = existing[name]()

        schemathesis.hook(before_call)
        try:
            yield
        finally:
            unregister(before_call)

    def _existing(self, case: Case) -> dict[str, Callable[[], str]]:
        """Ids by the name of the parameter. What is to be deleted is made for that."""
        first, second, *_ = self.memory_ids
        if case.method == "DELETE" and case.path == "/v1/graph/edges":
            self._connect(first, second, case.query)
        deleted = case.method == "DELETE" and case.path
        return {
            "agent_id": self._new_agent if deleted == "/v1/agents/{agent_id}" else lambda: self.agent_id,
            "memory_id": self._new_memory if deleted == "/v1/memories/{memory_id}" else lambda: first,
            "source_id": lambda: first,
            "target_id": lambda: second,
        }

    def _new_agent(self) -> str:
        return _posted(f"{self.url}/v1/agents", name=f"doomed {uuid4()}")

    def _new_memory(self) -> str:
        return self._remember(f"doomed {uuid4()}")

    def _remember(self, text: str) -> str:
        fields = {"agent_id": self.agent_id, "content": text, "session_id": "s", "entities": ["Alice"]}
        return _posted(f"{self.url}/v1/memories", **fields)

    def _connect(self, source: str, target: str, drawn: Any) -> None:
        edge = {"source_id": source, "target_id": target, "relation_type": drawn.get("relation_type")}
        requests.post(f"{self.url}/v1/graph/edges", json=edge, timeout=30)  # which relation was drawn may be none


def _posted(url: str, **body: Any) -> str:
    response = requests.post(url, json=body, timeout=30)
    response.raise_for_status()
    id: str = response.json()["id"]
    return id


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value.lower()
    except ValueError:
        return False
