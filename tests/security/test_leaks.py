"""Nothing of one tenant stands in any answer to another, at rest and while both are busy."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from engram.db.database import Database, driver
from engram.services import Services
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope
from engram.tenants.service import OperatorService
from tests.fixtures.servers import running
from tests.fixtures.tenants import Tenant, bearer, new_key

from .calls import guarded
from .worlds import NOTHING, SHARED_AGENT, SHARED_SUBJECT, SHARED_TEXT, World, new_world

ECHOING = ("/recall", "/traverse", "/path", "/related", "/timeline", "/compute")
"""How the paths of questions end that come back with their answers."""


@pytest.fixture
async def world(http: httpx.AsyncClient, alder: Tenant) -> World:
    return await new_world(http, alder, extra=0)


@pytest.fixture
async def others(http: httpx.AsyncClient, birch: Tenant) -> World:
    return await new_world(http, birch, extra=4)


def assert_nothing_of(others: World, response: httpx.Response, *, but: Iterable[str] = ()) -> None:
    """Neither ids nor marks, in the body or in headers; ``but`` are those that were asked for."""
    told = (response.text + str(response.headers)).casefold()
    for secret in {*others.every_id, others.tenant.id, others.mark, *others.tenant.keys.values()} - set(but):
        assert secret.casefold() not in told, (response.request.method, str(response.request.url), secret)


def questions(world: World, others: World) -> list[tuple[str, str, dict[str, Any]]]:
    """What may be asked within a tenant, for what the other one holds above all."""
    agent, memory = world.ids["agent_id"], world.ids["memory_id"]
    texts = (SHARED_TEXT, "Who is Captain Zqbirch or Captain Zqalder?", "harbour lighthouse storm sea note")
    found: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/v1/memories/recall", {"json": {"agent_id": agent, "query": query, **options}})
        for query in texts
        for options in (
            {"explain": True, "top_k": 200, "max_hops": 5},
            {"explain": True, "top_k": 200, "graph_weight": 1.0, "diversity": 0.5},
            {"tags": ["shared"], "metadata": {"shared": 1}, "lexical": False},
            {"tags": [f"{others.mark}tag"]},
            {"user_id": f"{others.mark} user"},
            {"session_id": f"{others.mark} session"},
        )
    ]
    found += [
        ("POST", "/v1/facts/recall-graph", {"json": {"agent_id": agent, "query": query, "hops": 4, "limit": 200} | of})
        for query in (SHARED_SUBJECT, "the north sea", f"{others.mark} harbour")
        for of in ({}, {"user_id": f"{others.mark} user"}, {"user_id": f"{world.mark} user"})
    ]
    found += [
        ("GET", "/v1/facts", {"params": {"agent_id": agent, "limit": 200} | of})
        for of in ({}, {"subject": SHARED_SUBJECT}, {"user_id": f"{others.mark} user"}, {"known_at": "2999-01-01"})
    ]
    listed = {"agent_id": agent, "include_total": True, "limit": 200}
    found += [
        ("GET", "/v1/memories", {"params": listed | more})
        for more in ({}, {"tag": "shared"}, {"session_id": f"{others.mark} session"}, {"status": "deleted"})
    ]
    found += [
        (method, path, {place: {"agent_id": agent, **asked}})
        for name in ("Harbour", f"{others.mark.title()} Lighthouse", f"{world.mark.title()} Lighthouse")
        for method, path, place, asked in (
            ("POST", "/v1/facts/traverse", "json", {"seed_entity": name, "max_hops": 4, "hub_share": 0}),
            ("POST", "/v1/facts/path", "json", {"source": "Harbour", "target": name, "max_hops": 4}),
            ("GET", "/v1/facts/related", "params", {"entity": name, "limit": 200}),
            ("GET", "/v1/memories/timeline", "params", {"entity": name, "limit": 200}),
        )
    ]
    found += [
        ("GET", "/v1/facts/compute", {"params": {"agent_id": agent, "entity": name, "attribute": "depth", "op": op}})
        for name in ("Harbour", f"{others.mark.title()} Lighthouse")
        for op in ("sum", "count")
    ]
    found += [
        ("GET", f"/v1/memories/{memory}/related", {"params": {"limit": 200}}),
        ("GET", f"/v1/memories/{memory}/backlinks", {"params": {"limit": 200}}),
        ("GET", f"/v1/agents/{agent}/taxonomy", {"params": {"limit": 200}}),
        ("GET", "/v1/graph/edges", {"params": {"memory_id": memory, "limit": 200}}),
        ("GET", "/v1/graph/neighborhood", {"params": {"memory_id": memory, "max_nodes": 500, "max_edges": 1000}}),
        ("GET", f"/v1/memories/{memory}", {}),
        ("GET", "/v1/facts/merge", {"params": {"agent_id": agent, "include_undone": True}}),
        ("GET", "/v1/facts/triples", {"params": {"agent_id": agent, "include_ended": True, "include_sources": True}}),
        ("GET", f"/v1/agents/{agent}/ontology", {}),
        ("GET", f"/v1/facts/{world.ids['fact_id']}", {}),
        ("GET", f"/v1/facts/{world.ids['fact_id']}/history", {}),
        ("GET", f"/v1/agents/{agent}", {}),
        ("GET", f"/v1/agents/{agent}/stats", {}),
        ("GET", "/v1/agents", {"params": {"limit": 200}}),
        ("GET", "/v1/agents", {"params": {"name": SHARED_AGENT}}),
        ("GET", "/v1/agents", {"params": {"name": f"{others.mark} second"}}),
        ("GET", "/v1/audit", {"params": {"limit": 200}}),
        ("GET", "/health/ready", {}),
        ("GET", "/health/live", {}),
        ("GET", "/metrics", {}),
        ("GET", "/openapi.json", {}),
        ("GET", "/nowhere", {}),
        ("POST", "/v1/memories", {"json": {"agent_id": agent}}),
        ("PATCH", f"/v1/agents/{agent}", {"json": {"name": f"{world.mark} second"}}),
        ("POST", "/v1/agents", {"json": {"name": SHARED_AGENT}}),
    ]
    return found


class TestAtRest:
    async def test_no_answer_has_anything_of_another_tenant(
        self, http: httpx.AsyncClient, world: World, others: World
    ) -> None:
        for mine, theirs in ((world, others), (others, world)):
            for method, path, asked in questions(mine, theirs):
                response = await http.request(method, path, headers=mine.tenant.headers(), **asked)
                # A question comes back with its answer.
                echoed = [theirs.mark] if path.endswith(ECHOING) else []
                assert_nothing_of(theirs, response, but=echoed)
                for hit in response.json().get("results", []) if path.endswith("/recall") else []:
                    assert theirs.mark not in str(hit).casefold()

    async def test_numbers_are_of_one_tenant(self, http: httpx.AsyncClient, world: World, others: World) -> None:
        for mine in (world, others):
            headers, agent = mine.tenant.headers(), mine.ids["agent_id"]
            listed = {"agent_id": agent, "include_total": True}
            assert (await http.get("/v1/memories", params=listed, headers=headers)).json()["total"] == mine.memories
            stats = (await http.get(f"/v1/agents/{agent}/stats", headers=headers)).json()
            assert stats["memories"] == mine.memories
            assert len((await http.get("/v1/agents", headers=headers)).json()["data"]) == 2
            events = (await http.get("/v1/audit", params={"limit": 200}, headers=headers)).json()["data"]
            created = [event for event in events if event["action"] == "memory.create"]
            # The value of a key was set; the other agent has three that were written.
            assert len(created) == mine.memories - 1 + 3

    async def test_what_was_said_alike_is_stored_for_each(
        self, http: httpx.AsyncClient, world: World, others: World
    ) -> None:
        assert world.every_id.isdisjoint(others.every_id)
        for mine in (world, others):
            agent = mine.ids["agent_id"]
            again = await http.post(
                "/v1/memories", json={"agent_id": agent, "content": SHARED_TEXT}, headers=mine.tenant.headers()
            )
            # Of another user and session: new, once, and then found again.
            assert again.status_code == 201
            twice = await http.post(
                "/v1/memories", json={"agent_id": agent, "content": SHARED_TEXT}, headers=mine.tenant.headers()
            )
            assert (twice.status_code, twice.json()["id"]) == (200, again.json()["id"])

    async def test_scores_do_not_know_of_another_tenant(
        self, http: httpx.AsyncClient, world: World, birch: Tenant
    ) -> None:
        """What words are worth, and what is near, is of one agent: another tenant's texts move nothing."""
        asked = {
            "agent_id": world.ids["agent_id"],
            "query": "harbour storm lighthouse",
            "explain": True,
            "as_of": "2100-01-01T00:00:00Z",
        }
        answers = []
        for extra in (0, 5):
            if extra:
                await new_world(http, birch, extra=extra)
            answer = (await http.post("/v1/memories/recall", json=asked, headers=world.tenant.headers())).json()
            answers.append(answer["results"])
        assert answers[0]
        assert answers[0] == answers[1]

    async def test_cursors_of_one_tenant_lead_nowhere_in_another(
        self, http: httpx.AsyncClient, world: World, others: World
    ) -> None:
        for path, names in (
            ("/v1/agents", []),
            ("/v1/memories", ["agent_id"]),
            ("/v1/graph/edges", ["memory_id"]),
            ("/v1/audit", []),
            ("/v1/facts", ["agent_id"]),
        ):
            theirs = {"limit": 1} | {name: others.ids[name] for name in names}
            page = await http.get(path, params=theirs, headers=others.tenant.headers())
            cursor = page.json()["next_cursor"]
            assert cursor is not None, path
            mine = {"limit": 1, "cursor": cursor} | {name: world.ids[name] for name in names}
            response = await http.get(path, params=mine, headers=world.tenant.headers())
            assert response.status_code == 200
            assert_nothing_of(others, response)

    async def test_logs_of_the_audit_hold_no_texts(self, http: httpx.AsyncClient, world: World) -> None:
        events = await http.get("/v1/audit", params={"limit": 200}, headers=world.tenant.headers())
        for text in ("harbour", "lighthouse", "storm", f"{world.mark}value", *world.tenant.keys.values()):
            assert text not in events.text.casefold()

    async def test_a_key_to_one_agent_is_told_nothing_of_others(
        self, http: httpx.AsyncClient, world: World, operator: OperatorService
    ) -> None:
        key = bearer(await new_key(operator, world.tenant.name, Role.admin, world.ids["agent_id"]))
        hidden = set(world.other_ids.values())
        for call in guarded(world.ids):
            if call.method == "GET" or call.operation in ("recall", "recall_graph"):
                response = await call.send(http, key)
                assert response.status_code == 200
                assert not [id for id in hidden if id in response.text], call.operation
        answer = await http.get("/v1/agents", headers=key)
        assert f"{world.mark} second" not in answer.text

    async def test_facts_say_nothing_of_another_agent_or_user(
        self, http: httpx.AsyncClient, world: World, others: World
    ) -> None:
        """All of them have facts of one subject, which a walk of any begins at."""
        headers, user = world.tenant.headers(), f"{world.mark} user"

        async def objects(agent: str, of: dict[str, str]) -> list[set[str]]:
            asked = {"agent_id": agent, "query": SHARED_SUBJECT, "hops": 4, "limit": 200}
            answer = await http.post("/v1/facts/recall-graph", json=asked | of, headers=headers)
            listed = await http.get("/v1/facts", params={"agent_id": agent} | of, headers=headers)
            shown = [edge["fact"]["object"] for path in answer.json()["paths"] for edge in path["edges"]]
            return [set(shown), {fact["object"] for fact in listed.json()["data"]}]

        own, second = world.ids["agent_id"], world.other_ids["agent_id"]
        only = {"agent_id": second, "subject": SHARED_SUBJECT, "predicate": "keeps", "object": "another secret"}
        assert (await http.post("/v1/facts", json=only, headers=headers)).status_code == 201
        shown, listed = await objects(own, {})
        assert shown == {f"{world.mark} harbour", "the North Sea"}
        assert listed == {f"{world.mark} town", f"{world.mark} harbour", "the North Sea"}
        assert await objects(own, {"user_id": user}) == [{f"{world.mark} friend"}] * 2
        assert await objects(own, {"user_id": "nobody"}) == [set(), set()]
        shown, listed = await objects(second, {})
        assert "another secret" in shown & listed

    async def test_a_fact_is_tied_to_no_memory_of_others(
        self, http: httpx.AsyncClient, world: World, others: World
    ) -> None:
        """Whoever guesses an id may name it, and is told nothing of it."""
        theirs = [others.ids["memory_id"], world.other_ids["memory_id"]]
        fact = {"agent_id": world.ids["agent_id"], "subject": "Gull", "predicate": "eats", "object": "fish"}
        appended = await http.post("/v1/facts", json=fact | {"sources": theirs}, headers=world.tenant.headers())
        assert appended.json()["sources"] == theirs
        asked = {"agent_id": world.ids["agent_id"], "query": "gull"}
        answer = (await http.post("/v1/facts/recall-graph", json=asked, headers=world.tenant.headers())).json()
        assert (len(answer["paths"]), answer["memories"]) == (1, [])


class TestUnderLoad:
    """One server with two connections, which both tenants' requests run on by turns."""

    @pytest.fixture
    async def live(
        self, settings: Settings, static_weights: None, world: World, others: World
    ) -> AsyncIterator[httpx.AsyncClient]:
        changed = settings.model_copy(update={"pool_size": 2, "statement_timeout": 2.0, "pool_timeout": 20.0})
        with running(changed) as url:
            async with httpx.AsyncClient(base_url=url, timeout=60) as client:
                yield client

    async def test_nothing_goes_from_one_request_to_the_next(
        self, live: httpx.AsyncClient, database: Database, world: World, others: World
    ) -> None:
        chance = random.Random(7)
        seen: set[int] = set()

        async def ask(mine: World, theirs: World, number: int) -> None:
            possible = self.requests(mine, theirs, number)
            method, path, asked = possible[number % len(possible)]
            response = await live.request(method, path, headers=mine.tenant.headers(chance_role(path)), **asked)
            seen.add(response.status_code)
            assert response.status_code < 500 or response.status_code == 503, response.text
            asked_back = response.status_code >= 400 or path.endswith(ECHOING)
            echoed = [theirs.mark, *theirs.every_id] if asked_back else []
            assert_nothing_of(theirs, response, but=echoed)
            if response.status_code < 300 and path.endswith("/recall"):
                assert theirs.mark not in str(response.json()["results"]).casefold()

        async def give_up(mine: World, theirs: World, number: int) -> None:
            """A client that hangs up in the middle."""
            task = asyncio.create_task(ask(mine, theirs, number))
            await asyncio.wait([task], timeout=chance.random() / 20)
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

        def chance_role(path: str) -> Role:
            return Role.admin if path == "/v1/audit" else chance.choice([Role.writer, Role.admin])

        pairs = ((world, others), (others, world))
        work: list[Callable[[], Any]] = [
            lambda pair=pair, number=number, what=what: what(*pair, number)
            for number in range(50)
            for pair in pairs
            for what in ((ask, give_up) if number % 2 else (ask,))
        ]
        chance.shuffle(work)
        queue = iter(work)

        async def worker() -> None:
            for job in queue:
                await job()

        async with database.transaction() as connection:
            # Writes to this agent run into the time limit of statements for as long as this is held.
            await driver(connection).execute(
                "SELECT FROM agents WHERE id = $1 FOR UPDATE", others.other_ids["agent_id"]
            )
            await asyncio.gather(*(worker() for _ in range(8)))
        assert {200, 201, 404, 422, 503} <= seen

    @staticmethod
    def requests(mine: World, theirs: World, number: int) -> list[tuple[str, str, dict[str, Any]]]:
        agent, held = mine.ids["agent_id"], mine.other_ids["agent_id"]
        new = {"content": f"{mine.mark} wrote line {number} of the log.", "entities": ["Harbour"]}
        said = {"subject": SHARED_SUBJECT, "predicate": "wrote", "object": f"{mine.mark} line {number}"}
        return [
            *questions(mine, theirs)[::3],
            ("POST", "/v1/memories", {"json": {"agent_id": agent, **new}}),
            ("POST", "/v1/memories", {"json": {"agent_id": held, **new}}),
            ("POST", "/v1/memories", {"json": {"agent_id": theirs.ids["agent_id"], **new}}),
            ("GET", f"/v1/memories/{theirs.ids['memory_id']}", {}),
            ("POST", f"/v1/facts/{theirs.ids['fact_id']}/undo", {}),
            ("POST", "/v1/facts", {"json": {"agent_id": agent, **said}}),
            ("GET", f"/v1/agents/{theirs.ids['agent_id']}/stats", {}),
            ("GET", f"/v1/agents/{NOTHING['agent_id']}", {}),
            ("GET", "/v1/agents", {"params": {"limit": "many"}}),
        ]

    async def test_a_connection_comes_back_as_it_was(self, services: Services, world: World, others: World) -> None:
        """After whatever ended a transaction, the connection is the server's own again, and no tenant's."""
        tenants = TenantDatabase(services.database)
        scope = Scope(UUID(world.tenant.id))

        async def fine() -> None:
            async with tenants.transaction(scope) as connection:
                await driver(connection).execute("SELECT 1")

        async def broken() -> None:
            async with tenants.administration(scope) as connection:
                await driver(connection).execute("SELECT no_such_column")

        async def raising() -> None:
            async with tenants.snapshot(scope):
                raise RuntimeError

        async def swallowed() -> None:
            async with tenants.transaction(scope) as connection:
                with suppress(asyncpg.DivisionByZeroError):
                    await driver(connection).execute("SELECT 1/0")

        async def timed_out() -> None:
            async with tenants.snapshot(scope) as connection:
                await driver(connection).execute("SET LOCAL statement_timeout = 20; SELECT pg_sleep(10)")

        async def cancelled() -> None:
            async with tenants.transaction(scope) as connection:
                asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)  # type: ignore[union-attr]
                await driver(connection).execute("SELECT pg_sleep(10)")

        async def cancelled_at_once() -> None:
            asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)  # type: ignore[union-attr]
            async with tenants.transaction(scope):
                await asyncio.sleep(0)

        for end in (fine, broken, raising, swallowed, timed_out, cancelled, cancelled_at_once):
            await asyncio.wait([asyncio.create_task(end()) for _ in range(8)])
            for _ in range(3):
                await asyncio.gather(*(self.assert_plain(services.database) for _ in range(5)))

    @staticmethod
    async def assert_plain(database: Database) -> None:
        row = await database.ask(
            lambda connection: driver(connection).fetchrow(
                """
                SELECT current_user, session_user, current_setting('engram.tenant_id', true) AS tenant,
                    pg_sleep(0.005)::text,
                    -- The driver sets jit itself, when it asks for types.
                    (SELECT array_agg(name) FROM pg_settings WHERE source = 'session' AND name <> 'jit') AS set
                """
            )
        )
        assert row is not None
        assert row["current_user"] == row["session_user"] == "engram_server"
        assert row["tenant"] in (None, "")
        assert row["set"] is None, row["set"]
