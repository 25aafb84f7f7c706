"""What two tenants hold, with a mark of its tenant in every text, and the same texts, names and numbers in both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from tests.fixtures.tenants import Tenant

SHARED_TEXT = "The keeper of the lighthouse lights the lamp at dusk."
SHARED_AGENT = "keeper"
SHARED_SUBJECT = "The Keeper"

NOTHING = {
    name: str(uuid4()) for name in ("agent_id", "memory_id", "source_id", "target_id", "job_id", "fact_id", "merge_id")
}
"""Ids of things that are nowhere."""


@dataclass(frozen=True)
class World:
    tenant: Tenant
    mark: str
    """Stands in all that the tenant calls its own, and nowhere else."""
    ids: Mapping[str, str]
    """One agent's, by the names that requests have for them."""
    other_ids: Mapping[str, str]
    """Of another agent of the tenant."""
    every_id: frozenset[str]
    memories: int
    """Of the first agent."""


async def new_world(http: httpx.AsyncClient, tenant: Tenant, *, extra: int) -> World:
    """Two agents with memories, edges and entities; ``extra`` memories make its numbers unlike another's."""
    build = _Builder(http, tenant)
    ids = await build.agent(SHARED_AGENT, extra)
    other_ids = await build.agent(f"{tenant.name} second", 0)
    return World(tenant, tenant.name, ids, other_ids, frozenset(build.made), memories=4 + extra)


class _Builder:
    def __init__(self, http: httpx.AsyncClient, tenant: Tenant) -> None:
        self._http = http
        self._tenant = tenant
        self.made: set[str] = set()

    async def agent(self, name: str, extra: int) -> dict[str, str]:
        mark = self._tenant.name
        agent = await self._post("/v1/agents", name=name, metadata={f"{mark}key": f"{mark}value"})
        texts = [
            SHARED_TEXT,
            f"{mark} told Captain {mark.title()} that the harbour closes at nine.",
            # Of passages too.
            f"Captain {mark.title()} wrote a long report about the storm. " + f"The {mark} sea was high. " * 120,
            *(f"{mark} note {number} about the harbour." for number in range(extra)),
        ]
        memories = [await self._memory(agent, text) for text in texts]
        ids = {"agent_id": agent, "memory_id": memories[0], "source_id": memories[0], "target_id": memories[1]}
        ends = {"source_id": memories[0], "target_id": memories[1]}
        await self._post("/v1/graph/edges", **ends, relation_type="causal", label=f"{mark} label", reason=f"{mark} why")
        # Twice, so that there is something that was before.
        await self._post("/v1/graph/edges", **ends, relation_type="causal", reason=f"{mark} because")
        for value in ("first", "second"):
            body = {"agent_id": agent, "key": f"{mark}/slot", "content": f"{mark} {value} value"}
            set_ = await self._http.put("/v1/memories", json=body, headers=self._tenant.headers())
            assert set_.status_code == 201, set_.text
            self.made.add(set_.json()["id"])
        job = await self._http.post(f"/v1/agents/{agent}/rebuild-links", headers=self._tenant.headers())
        assert job.status_code == 202, job.text
        self.made.add(job.json()["id"])
        return {**ids, "job_id": job.json()["id"], **await self._facts(agent, memories[0])}

    async def _facts(self, agent: str, memory: str) -> dict[str, str]:
        """Two that meet in a node, of nobody and of a user; the first took the place of another."""
        mark = self._tenant.name
        stated = [
            {"subject": SHARED_SUBJECT, "predicate": "lives_in", "object": f"{mark} town", "sources": [memory]},
            {"subject": SHARED_SUBJECT, "predicate": "lives_in", "object": f"{mark} harbour", "sources": [memory]},
            {"subject": f"{mark} harbour", "predicate": f"{mark}_lies_at", "object": "the North Sea"},
            {"subject": SHARED_SUBJECT, "predicate": "knows", "object": f"{mark} friend", "user_id": f"{mark} user"},
        ]
        facts = [await self._post("/v1/facts", agent_id=agent, **fact) for fact in stated]
        merge = await self._post("/v1/facts/merge", agent_id=agent, name=SHARED_SUBJECT, other=f"{mark} keeper")
        return {"fact_id": facts[1], "merge_id": merge}

    async def _memory(self, agent: str, text: str) -> str:
        mark = self._tenant.name
        return await self._post(
            "/v1/memories",
            agent_id=agent,
            content=text,
            user_id=f"{mark} user",
            session_id=f"{mark} session",
            source=f"{mark} source",
            tags=["shared", f"{mark}tag"],
            metadata={"shared": 1, f"{mark}key": {"deep": f"{mark}value"}},
            entities=[{"name": f"{mark.title()} Lighthouse", "role": "subject"}, "Harbour"],
            quantities=[
                {"entity": name, "attribute": "depth", "value": 9, "unit": "m"}
                for name in ("Harbour", f"{mark.title()} Lighthouse")
            ],
        )

    async def _post(self, path: str, **body: Any) -> str:
        response = await self._http.post(path, json=body, headers=self._tenant.headers())
        assert response.status_code == 201, response.text
        made: str = response.json().get("id", "")
        self.made |= {made} - {""}
        return made
