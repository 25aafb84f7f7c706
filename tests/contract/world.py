"""Agents, memories and edges that exist: of a server that knows nothing, every question is answered 404."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import requests
import schemathesis
from schemathesis import Case, HookContext
from schemathesis.hooks import unregister

from engram.tenants.roles import Role
from tests.fixtures.tenants import Tenant

_BEFORE_ALL, _AFTER_ALL = "0001-01-02T00:00:00Z", "2999-01-01T00:00:00Z"
_LEFT_ALONE = "0"
"""Ids that end so are left as they were drawn; most name nothing."""


@dataclass(frozen=True)
class World:
    """What a tenant has on the server at ``url``."""

    url: str
    tenant: Tenant
    agent_id: str
    memory_ids: tuple[str, ...]
    job_id: str = ""
    fact_id: str = ""

    @classmethod
    def made(cls, url: str, tenant: Tenant, name: str) -> World:
        texts = ("Alice moved to Lisbon.", "Bob stays in Porto.", "Alice works at the harbour.")
        world = cls(url, tenant, "", ())
        world = replace(world, agent_id=world._posted("/v1/agents", name=name))
        world = replace(world, memory_ids=tuple(world._remember(text) for text in texts))
        job = world._post(f"/v1/agents/{world.agent_id}/rebuild-links")
        return replace(world, job_id=job.json()["id"], fact_id=world.new_fact())

    @property
    def key(self) -> str:
        """The admin's, who may ask everything."""
        return self.tenant.keys[Role.admin]

    @contextmanager
    def inhabited(self) -> Iterator[None]:
        """Requests have ids of what exists in place of most that were drawn, and keys of repeats that nobody used."""

        def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
            use_a_new_key(case)
            existing = self._existing(case)
            for place in (case.path_parameters, case.query, case.body, *_edges_of(case.body)):
                for name in existing.keys() & (place.keys() if isinstance(place, dict) else ()):
                    # What is drawn may have been seen in an answer. Nothing is deleted that others need.
                    if _is_id(place[name]) and (_deletes(case) or not place[name].endswith(_LEFT_ALONE)):
                        place[name] = existing[name]()
            if case.path.endswith("/supersede") and isinstance(case.body, dict):
                # Whose it is comes from the memory whose place is taken: most that is drawn is somebody else's.
                for name in ("user_id", "session_id"):
                    case.body.pop(name, None)
            known = ("/v1/memories/{memory_id}", "/v1/facts/{fact_id}")
            if case.path in known and _is_moment((case.query or {}).get("known_at")):
                case.query["known_at"] = _AFTER_ALL  # before it was written there is nothing

        schemathesis.hook(before_call)
        try:
            yield
        finally:
            unregister(before_call)

    def _existing(self, case: Case) -> dict[str, Callable[[], str]]:
        """Ids by the name of the parameter. What is to be deleted is made for that."""
        first, second, *_ = self.memory_ids
        if case.method == "DELETE" and case.path == "/v1/graph/edges":
            self.connect(first, second, case.query.get("relation_type"))
        deleted = _deletes(case) and case.path
        emptied = deleted in ("/v1/agents/{agent_id}", "/v1/memories/delete")
        spent = deleted == "/v1/memories/{memory_id}" or case.path.endswith(("/purge", "/supersede"))
        return {
            "agent_id": self.new_agent if emptied else lambda: self.agent_id,
            "memory_id": self.new_memory if spent else lambda: first,
            "job_id": lambda: self.job_id,
            "fact_id": self._fact_for(case),
            "merge_id": self.new_merge,
            "source_id": lambda: first,
            "target_id": lambda: second,
        }

    def _fact_for(self, case: Case) -> Callable[[], str]:
        if case.path.endswith("/restore"):
            return self.deleted_fact
        return self.new_fact if _deletes(case) or case.path.endswith("/undo") else lambda: self.fact_id

    def new_fact(self) -> str:
        fact = {"subject": f"Alice {uuid4()}", "predicate": "lives_in", "object": "Lisbon"}
        return self._posted("/v1/facts", agent_id=self.agent_id, **fact)

    def deleted_fact(self) -> str:
        id = self.new_fact()
        address = f"{self.url}/v1/facts/{id}"
        requests.delete(address, headers=self.tenant.headers(), timeout=30).raise_for_status()
        return id

    def new_merge(self) -> str:
        names = {"name": f"name {uuid4()}", "other": f"other {uuid4()}"}
        return self._posted("/v1/facts/merge", agent_id=self.agent_id, **names)

    def new_agent(self) -> str:
        return self._posted("/v1/agents", name=f"doomed {uuid4()}")

    def new_memory(self) -> str:
        return self._remember(f"doomed {uuid4()}", valid_from=_BEFORE_ALL)

    def _remember(self, text: str, **more: Any) -> str:
        fields = {"agent_id": self.agent_id, "content": text, "session_id": "s", "entities": ["Alice"], **more}
        return self._posted("/v1/memories", **fields)

    def connect(self, source: str, target: str, relation: Any) -> None:
        """Where the relation that was drawn is one."""
        self._post("/v1/graph/edges", source_id=source, target_id=target, relation_type=relation)

    def _posted(self, path: str, **body: Any) -> str:
        response = self._post(path, **body)
        response.raise_for_status()
        id: str = response.json()["id"]
        return id

    def _post(self, path: str, **body: Any) -> requests.Response:
        return requests.post(f"{self.url}{path}", json=body, headers=self.tenant.headers(), timeout=30)


def use_a_new_key(case: Case) -> None:
    """Make the ``Idempotency-Key`` of a request, if it is a good one, one that no other has: another request under it
    is refused, as no schema can say."""
    for name, drawn in (case.headers or {}).items():
        if name.lower() == "idempotency-key" and isinstance(drawn, str) and re.fullmatch(r"[!-~]{1,255}", drawn):
            case.headers[name] = f"{uuid4().hex}{drawn}"[:255]


def _deletes(case: Case) -> bool:
    return case.method == "DELETE" or case.path == "/v1/memories/delete" or case.path.endswith("/purge")


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def _edges_of(body: object) -> list[object]:
    edges = body.get("edges") if isinstance(body, dict) else None
    return edges if isinstance(edges, list) else []


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value.lower()
    except ValueError:
        return False
