"""Writes that are repeated under one ``Idempotency-Key``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import httpx
import pytest

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import Database
from engram.idempotency import service as idempotency
from engram.idempotency.budget import Budget
from engram.idempotency.service import MAX_KEPT_BYTES
from engram.server import app as server
from engram.server import background
from engram.services import Services, open_services
from engram.settings import Settings
from engram.tenants.roles import Role
from engram.tenants.schemas import KeyCreate
from engram.tenants.service import OperatorService
from tests.fixtures.rows import every_row
from tests.fixtures.servers import LOCAL, openapi, running

KEY = {"Idempotency-Key": "k-1"}
REPLAYED = "Idempotent-Replayed"


@dataclass(frozen=True)
class Write:
    """A request that changes something, and can be sent again."""

    method: str
    path: str
    json: Any = None
    params: dict[str, str] = field(default_factory=dict)

    async def send(self, http: httpx.AsyncClient, headers: dict[str, str]) -> httpx.Response:
        return await http.request(self.method, self.path, json=self.json, params=self.params, headers=headers)


async def writes(engram: AsyncEngram, agent: Agent) -> dict[str, Write]:
    """One request for every operation that writes, each of which has something to change; the agent's end is last."""
    texts = ("Alice sings", "Bob rows", "Carol paints", "Fay reads", "Gil cooks", "Hal knits")
    one, two, three, four, five, six = [await engram.memories.create(agent.id, text) for text in texts]
    await engram.memories.delete(six.id)
    await engram.graph.create_edge(one.id, two.id, "supports", reason="both are fun")
    ends = {"source_id": one.id, "target_id": two.id}
    items = [{"content": "Dan dances"}, {"content": "Alice sings"}]
    job = await engram.agents.rebuild_links(agent.id)
    fact = {"subject": "Alice", "predicate": "lives_in"}
    facts = [await engram.facts.append(agent.id, name, "knows", "Alice") for name in ("Bob", "Carol", "Dan")]
    await engram.facts.delete(facts[2].id)
    merge = await engram.facts.merge(agent.id, "Bob", "Robert")
    return {
        "rebuild_links": Write("POST", f"/v1/agents/{agent.id}/rebuild-links"),
        "find_communities": Write("POST", f"/v1/agents/{agent.id}/entity-communities"),
        "retry_job": Write("POST", f"/v1/jobs/{job.id}/retry"),
        "retry_jobs": Write("POST", "/v1/jobs/retry", {}),
        "create_agent": Write("POST", "/v1/agents", {"name": "another", "metadata": {"said": "in confidence"}}),
        "update_agent": Write("PATCH", f"/v1/agents/{agent.id.upper()}", {"metadata": {"said": "in confidence"}}),
        "create_memory": Write("POST", "/v1/memories", {"agent_id": agent.id, "content": "Erin climbs"}),
        "create_memories": Write("POST", "/v1/memories/batch", {"agent_id": agent.id, "items": items}),
        "set_memory": Write("PUT", "/v1/memories", {"agent_id": agent.id, "key": "k", "content": "Ida skates"}),
        "update_memory": Write("PATCH", f"/v1/memories/{one.id}", {"tags": ["in confidence"]}),
        "supersede_memory": Write("POST", f"/v1/memories/{four.id}/supersede", {"content": "Fay writes"}),
        "restore_memory": Write("POST", f"/v1/memories/{six.id}/restore"),
        "purge_memory": Write("POST", f"/v1/memories/{five.id}/purge"),
        "delete_memories": Write("POST", "/v1/memories/delete", {"agent_id": agent.id, "session_id": "none"}),
        "create_edge": Write("POST", "/v1/graph/edges", {**ends, "relation_type": "causal", "reason": "in confidence"}),
        "create_edges": Write(
            "POST",
            "/v1/graph/edges/batch",
            {"edges": [{**ends, "relation_type": "temporal", "label": "in confidence"}]},
        ),
        "append_fact": Write("POST", "/v1/facts", {"agent_id": agent.id, **fact, "object": "in confidence"}),
        "append_facts": Write(
            "POST", "/v1/facts/batch", {"agent_id": agent.id, "items": [{**fact, "object": "Porto"}]}
        ),
        "delete_fact": Write("DELETE", f"/v1/facts/{facts[0].id}"),
        "undo_fact": Write("POST", f"/v1/facts/{facts[1].id}/undo"),
        "restore_fact": Write("POST", f"/v1/facts/{facts[2].id}/restore"),
        "merge_names": Write("POST", "/v1/facts/merge", {"agent_id": agent.id, "name": "Al", "other": "in confidence"}),
        "undo_merge": Write("DELETE", f"/v1/facts/merge/{merge.id}"),
        "register_ontology": Write("PUT", f"/v1/agents/{agent.id}/ontology", {"entity_types": ["in confidence"]}),
        "expire_by_adapter": Write(
            "POST", "/v1/facts/expire-by-adapter", {"agent_id": agent.id, "adapter_name": "in confidence"}
        ),
        "delete_edge": Write("DELETE", "/v1/graph/edges", params={**ends, "relation_type": "supports"}),
        "delete_memory": Write("DELETE", f"/v1/memories/{three.id}"),
        "delete_agent": Write("DELETE", f"/v1/agents/{agent.id}"),
    }


def same(first: httpx.Response, second: httpx.Response) -> bool:
    kinds = first.headers.get("content-type"), second.headers.get("content-type")
    return (first.status_code, first.content, kinds[0]) == (second.status_code, second.content, kinds[1])


async def memories(engram: AsyncEngram, agent: Agent) -> int:
    return (await engram.agents.stats(agent.id)).memories


@pytest.fixture
async def administrator(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def kept(administrator: asyncpg.Connection) -> list[bytes]:
    return [row["body"] for row in await administrator.fetch("SELECT body FROM idempotency_keys")]


async def until_waiting(
    administrator: asyncpg.Connection, statements: int, *, unless: asyncio.Task[Any] | None = None
) -> None:
    """Until so many statements of the server wait for locks, or what might be waiting is done."""
    async with asyncio.timeout(15):
        while unless is None or not unless.done():
            await administrator.execute("SELECT pg_stat_clear_snapshot()")
            waiting = await administrator.fetchval(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'
                """
            )
            if waiting == statements:
                return
            await asyncio.sleep(0.02)


class TestRepeating:
    async def test_every_write_is_carried_out_once_and_answered_alike(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, database: Database
    ) -> None:
        sent = await writes(engram, agent)
        assert {*sent, "import_agent"} == {
            operation["operationId"]
            for operations in openapi()["paths"].values()
            for method, operation in operations.items()
            if method != "get" and operation.get("x-engram-role") in ("writer", "admin")
        }
        for name, write in sent.items():
            headers = {"Idempotency-Key": f"key of {name}".replace(" ", "-")}
            first = await write.send(http, headers)
            assert first.is_success, (name, first.text)
            before = await every_row(database)
            for _ in range(2):
                again = await write.send(http, headers)
                assert same(first, again), name
                assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true"), name
            assert await every_row(database) == before, name

    async def test_without_a_key_a_repeat_is_answered_by_what_is_there_now(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
    ) -> None:
        write = (await writes(engram, agent))["delete_memory"]
        assert [(await write.send(http, {})).status_code for _ in range(2)] == [200, 404]

    async def test_reads_take_no_notice_of_keys(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        body = {"agent_id": agent.id, "query": "Alice"}
        assert (await http.post("/v1/memories/recall", json=body, headers=KEY)).json()["results"] == []
        await engram.memories.create(agent.id, "Alice sings")
        before = await kept(administrator)
        again = await http.post("/v1/memories/recall", json=body, headers=KEY)
        assert (len(again.json()["results"]), REPLAYED in again.headers) == (1, False)
        assert await kept(administrator) == before

    async def test_twenty_at_once_are_carried_out_once_and_answered_alike(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
    ) -> None:
        write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": "Alice sings"})
        answers = await asyncio.gather(*(write.send(http, KEY) for _ in range(20)))
        assert all(same(answers[0], answer) for answer in answers)
        assert answers[0].status_code == 201
        assert sum(REPLAYED not in answer.headers for answer in answers) == 1
        assert await memories(engram, agent) == 1

    async def test_who_waits_is_answered_whoever_else_gives_up(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": "Alice sings"})
        async with administrator.transaction():
            await administrator.execute("LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")
            first = asyncio.create_task(write.send(http, KEY))
            await until_waiting(administrator, 1)
            others = [asyncio.create_task(write.send(http, KEY)) for _ in range(5)]
            for task in (others.pop(), first):
                # Whoever came before these was let in by then, and waits.
                for _ in range(3):
                    assert (await http.get("/v1/agents")).is_success
                task.cancel()
                await asyncio.wait([task])
        answers = await asyncio.gather(*others)
        assert all(same(answers[0], answer) for answer in answers)
        assert [answers[0].status_code, sum(REPLAYED not in answer.headers for answer in answers)] == [201, 1]
        assert await memories(engram, agent) == 1

    async def test_twenty_deletions_at_once_all_succeed(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
    ) -> None:
        write = (await writes(engram, agent))["delete_memory"]
        answers = await asyncio.gather(*(write.send(http, KEY) for _ in range(20)))
        assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}

    async def test_servers_on_one_database_answer_alike(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, settings: Settings
    ) -> None:
        async with open_services(settings) as others:
            transport = httpx.ASGITransport(server.create_app(services=others))
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as elsewhere:
                for number in range(5):
                    write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": f"Alice sings {number}"})
                    headers = {"Idempotency-Key": f"k-{number}"}
                    first, second = await asyncio.gather(write.send(http, headers), write.send(elsewhere, headers))
                    assert same(first, second)
        assert await memories(engram, agent) == 5

    async def test_one_that_finds_its_work_done_by_another_server_gets_that_answer(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        write = (await writes(engram, agent))["delete_memory"]
        first = await write.send(http, KEY)
        # Back to before, and then the same again as another server would do it, at the same moment.
        gone = await administrator.fetchrow("DELETE FROM idempotency_keys WHERE body = $1 RETURNING *", first.content)
        await administrator.execute("UPDATE memories SET status = 'current' WHERE status = 'deleted'")
        async with administrator.transaction():
            id = first.json()["id"]
            await administrator.execute("UPDATE memories SET status = 'deleted' WHERE id = $1::text::uuid", id)
            await administrator.execute("INSERT INTO idempotency_keys VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", *gone)
            second = asyncio.create_task(write.send(http, KEY))
            await until_waiting(administrator, 1)
        assert same(first, await second)
        assert (await second).headers[REPLAYED] == "true"

    async def test_a_fact_is_one_where_it_is_sent_again_under_a_key_and_two_where_it_is_not(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
    ) -> None:
        fact = {"agent_id": agent.id, "subject": "Alice", "predicate": "lives_in", "object": "Porto"}
        write = Write("POST", "/v1/facts", fact)
        answers = await asyncio.gather(*(write.send(http, KEY) for _ in range(10)))
        assert all(same(answers[0], answer) for answer in answers)
        assert len((await engram.facts.query(agent.id)).data) == 1
        await write.send(http, {})
        stored = (await engram.facts.query(agent.id)).data
        assert [(one.object, one.valid_until) for one in stored] == [("Porto", None)] * 2

    def test_an_answer_survives_the_server(self, settings: Settings, static_weights: None) -> None:
        answers = []
        for _ in range(2):
            with running(settings) as url:
                answers.append(httpx.post(f"{url}/v1/agents", json={"name": "clerk"}, headers=KEY))
        assert same(*answers)
        assert (answers[0].status_code, answers[1].headers[REPLAYED]) == (201, "true")


class TestAnotherRequest:
    async def test_a_key_stands_for_one_request(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, database: Database
    ) -> None:
        body = {"agent_id": agent.id, "content": "Alice sings"}
        assert (await http.post("/v1/memories", json=body, headers=KEY)).status_code == 201
        before = await every_row(database)
        for other in (
            Write("POST", "/v1/memories", {**body, "content": "Alice rows"}),
            Write("POST", "/v1/memories/batch", {"agent_id": agent.id, "items": [{"content": "x"}]}),
            Write("PATCH", f"/v1/agents/{agent.id}", {"name": "x"}),
            Write("DELETE", f"/v1/agents/{agent.id}"),
        ):
            refused = await other.send(http, KEY)
            assert (refused.status_code, refused.json()["type"]) == (422, "invalid-input")
            assert [error["field"] for error in refused.json()["errors"]] == ["Idempotency-Key"]
        assert await every_row(database) == before

    async def test_of_different_ones_at_once_one_is_carried_out(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
    ) -> None:
        bodies = [{"agent_id": agent.id, "content": f"Alice sings {number}"} for number in range(10)]
        answers = await asyncio.gather(*(http.post("/v1/memories", json=body, headers=KEY) for body in bodies))
        assert sorted(answer.status_code for answer in answers) == [201] + [422] * 9
        assert await memories(engram, agent) == 1

    async def test_another_key_carries_it_out_again(self, http: httpx.AsyncClient, agent: Agent) -> None:
        write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": "Alice sings"})
        first = await write.send(http, KEY)
        second = await write.send(http, {"Idempotency-Key": "K-1"})
        assert (first.status_code, second.status_code, REPLAYED in second.headers) == (201, 200, False)


class TestFailures:
    async def test_a_failure_is_not_kept(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        other = await engram.agents.create("another")
        rename = Write("PATCH", f"/v1/agents/{agent.id}", {"name": "another"})
        before = await kept(administrator)
        for _ in range(2):
            refused = await rename.send(http, KEY)
            assert (refused.status_code, REPLAYED in refused.headers) == (409, False)
        assert await kept(administrator) == before
        await engram.agents.delete(other.id)
        assert (await rename.send(http, KEY)).json()["name"] == "another"

    async def test_failures_at_once_are_all_told(self, http: httpx.AsyncClient, agent: Agent) -> None:
        answers = await asyncio.gather(*(http.delete(f"/v1/memories/{agent.id}", headers=KEY) for _ in range(10)))
        assert {answer.status_code for answer in answers} == {404}

    @pytest.mark.parametrize("failing", ["INSERT", "COMMIT"])
    async def test_a_write_whose_answer_was_lost_can_be_repeated(
        self,
        http: httpx.AsyncClient,
        engram: AsyncEngram,
        agent: Agent,
        administrator: asyncpg.Connection,
        failing: str,
    ) -> None:
        when = "CONSTRAINT TRIGGER refuse AFTER" if failing == "COMMIT" else "TRIGGER refuse BEFORE"
        deferred = "DEFERRABLE INITIALLY DEFERRED" if failing == "COMMIT" else ""
        await administrator.execute(
            f"""
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'lost'; END $$;
            CREATE {when} INSERT ON idempotency_keys {deferred} FOR EACH ROW EXECUTE FUNCTION refuse()
            """
        )
        body = {"agent_id": agent.id, "content": "Alice sings"}
        first = await http.post("/v1/memories", json=body, headers=KEY)
        assert first.status_code == 201
        await administrator.execute("DROP FUNCTION refuse CASCADE")
        second = await http.post("/v1/memories", json=body, headers=KEY)
        assert (second.status_code, second.json()["id"]) == (200, first.json()["id"])
        assert await memories(engram, agent) == 1
        third = await http.post("/v1/memories", json=body, headers=KEY)
        assert same(second, third)
        assert third.headers[REPLAYED] == "true"

    async def test_an_answer_that_is_too_long_is_not_kept(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        before = await kept(administrator)
        body = {"agent_id": agent.id, "content": "Alice sings." + "\n" * MAX_KEPT_BYTES}
        statuses = [(await http.post("/v1/memories", json=body, headers=KEY)).status_code for _ in range(2)]
        assert statuses == [201, 200]
        assert await kept(administrator) == before
        assert await memories(engram, agent) == 1


HOSTILE = {
    "empty": b"",
    "blank": b"  ",
    "long": b"k" * 256,
    "huge": b"k" * 60_000,
    "space": b"a b",
    "tab": b"a\tb",
    "control": b"a\x01b",
    "delete": b"a\x7fb",
    "latin-1": b"caf\xe9",
    "utf-8": "schlüssel".encode(),
    "line": b"a\nb",
}


class TestManyOrLarge:
    async def test_beyond_a_budget_answers_are_not_kept_and_repeats_are_harmless(
        self, services: Services, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
    ) -> None:
        services.idempotency._budget = Budget(1_000, 3600)
        for number in range(5):
            write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": f"Alice sings {number}"})
            first, second = [await write.send(http, {"Idempotency-Key": f"b-{number}"}) for _ in range(2)]
            assert first.json()["id"] == second.json()["id"]
        assert (second.status_code, REPLAYED in second.headers) == (200, False)
        assert await memories(engram, agent) == 5

    async def test_too_many_that_wait_are_told_to_come_back(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(idempotency, "MAX_WAITING", 2)
        write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": "Alice sings"})
        answers = await asyncio.gather(*(write.send(http, KEY) for _ in range(10)))
        statuses = sorted(answer.status_code for answer in answers)
        assert set(statuses) == {201, 503}
        assert statuses.count(201) >= 3
        assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 503)
        assert await memories(engram, agent) == 1


class TestKeys:
    @pytest.mark.parametrize("kind", HOSTILE)
    async def test_one_that_cannot_be_one_is_refused_by_name(self, http: httpx.AsyncClient, kind: str) -> None:
        headers = [(b"idempotency-key", HOSTILE[kind])]
        response = await http.post("/v1/agents", json={"name": "clerk"}, headers=headers)
        assert response.status_code == 422
        assert [error["field"] for error in response.json()["errors"]] == ["Idempotency-Key"]
        assert (await http.get("/v1/agents")).json()["data"] == []

    @pytest.mark.parametrize("key", ["!", '"8e03978e-40d5-43e8-bc93-6894a57f9324"', "k" * 255, "';DROP--", "%00", "~"])
    async def test_any_visible_characters_are_one(self, http: httpx.AsyncClient, key: str) -> None:
        headers = {"Idempotency-Key": key}
        for status in (201, 201):
            assert (await http.post("/v1/agents", json={"name": "clerk"}, headers=headers)).status_code == status

    async def test_one_is_given_once(self, http: httpx.AsyncClient) -> None:
        headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
        response = await http.post("/v1/agents", json={"name": "clerk"}, headers=headers)
        assert response.status_code == 422
        assert response.json()["errors"] == [{"field": "Idempotency-Key", "message": "must be given once"}]

    async def test_what_is_wrong_with_the_body_is_told_all_the_same(self, http: httpx.AsyncClient) -> None:
        response = await http.post("/v1/agents", json={"name": ""}, headers=KEY)
        assert [error["field"] for error in response.json()["errors"]] == ["name"]


class TestWhoMayAskAgain:
    @pytest.fixture
    def operator(self, database: Database) -> OperatorService:
        return OperatorService(database)

    @pytest.fixture
    def make_key(self, operator: OperatorService) -> Callable[..., Any]:
        async def make(tenant: str = "default", role: Role = Role.admin) -> tuple[str, dict[str, str]]:
            created = await operator.create_key(KeyCreate(tenant=tenant, role=role))
            return created.id, {**KEY, "Authorization": f"Bearer {created.key}"}

        return make

    async def test_an_answer_is_for_the_api_key_that_got_it(
        self, http: httpx.AsyncClient, operator: OperatorService, make_key: Callable[..., Any]
    ) -> None:
        await operator.create_tenant("other")
        write = Write("POST", "/v1/agents", {"name": "clerk"})
        anonymous = await write.send(http, KEY)
        (_, mine), (_, colleague), (_, stranger) = await make_key(), await make_key(), await make_key("other")
        for headers, status in ((mine, 200), (colleague, 200), (stranger, 201)):
            first, again = await write.send(http, headers), await write.send(http, headers)
            assert (first.status_code, REPLAYED in first.headers) == (status, False)
            assert same(first, again)
            assert again.headers[REPLAYED] == "true"
        assert (await write.send(http, stranger)).json()["id"] != anonymous.json()["id"]
        assert (await write.send(http, KEY)).status_code == 401

    async def test_a_key_that_was_revoked_gets_nothing_again(
        self, http: httpx.AsyncClient, operator: OperatorService, make_key: Callable[..., Any]
    ) -> None:
        id, headers = await make_key()
        write = Write("POST", "/v1/agents", {"name": "clerk"})
        assert (await write.send(http, headers)).status_code == 201
        await operator.revoke(id)
        refused = await write.send(http, headers)
        assert (refused.status_code, REPLAYED in refused.headers) == (401, False)

    async def test_a_role_that_may_not_write_may_not_ask_for_what_was_answered(
        self, http: httpx.AsyncClient, make_key: Callable[..., Any], administrator: asyncpg.Connection
    ) -> None:
        id, headers = await make_key()
        write = Write("POST", "/v1/agents", {"name": "clerk"})
        assert (await write.send(http, headers)).status_code == 201
        await administrator.execute("UPDATE api_keys SET role = 'viewer' WHERE id = $1::text::uuid", id)
        refused = await write.send(http, headers)
        assert (refused.status_code, REPLAYED in refused.headers) == (403, False)


class TestForgetting:
    async def test_an_answer_is_not_given_after_its_time(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        body = {"agent_id": agent.id, "content": "Alice sings"}
        await http.post("/v1/memories", json=body, headers=KEY)
        await administrator.execute("UPDATE idempotency_keys SET expires_at = now() - interval '1 second'")
        # Nobody has swept it away yet: another request may take its place all the same.
        other = {**body, "content": "Alice rows"}
        first, again = [await http.post("/v1/memories", json=other, headers=KEY) for _ in range(2)]
        assert (first.status_code, REPLAYED in first.headers, again.headers[REPLAYED]) == (201, False, "true")
        assert same(first, again)

    async def test_answers_are_kept_for_a_day(self, http: httpx.AsyncClient, administrator: asyncpg.Connection) -> None:
        await http.post("/v1/agents", json={"name": "clerk"}, headers=KEY)
        hours = await administrator.fetchval(
            "SELECT extract(epoch FROM expires_at - recorded_at) / 3600 FROM idempotency_keys"
        )
        assert hours == 24

    async def test_a_server_sweeps_away_what_is_past_its_time_and_nothing_else(
        self,
        http: httpx.AsyncClient,
        settings: Settings,
        administrator: asyncpg.Connection,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in ("past", "kept"):
            await http.post("/v1/agents", json={"name": name}, headers={"Idempotency-Key": name})
        await administrator.execute(
            """
            UPDATE idempotency_keys SET expires_at = now() - interval '1 second'
            WHERE agent_id = (SELECT id FROM agents WHERE name = 'past')
            """
        )
        # More of them than one batch takes away.
        await administrator.execute(
            """
            INSERT INTO idempotency_keys
            SELECT tenant_id, int4send(number), fingerprint, NULL, 200, '', recorded_at, expires_at
            FROM idempotency_keys, generate_series(1, 2500) AS number WHERE expires_at < now()
            """
        )
        monkeypatch.setattr(background, "SWEEP_SECONDS", 0.02)
        async with server.lifespan(server.create_app(settings)), asyncio.timeout(30):
            while len(await kept(administrator)) > 1:  # noqa: ASYNC110  # what happens in Postgres sets no event
                await asyncio.sleep(0.02)
        assert [b'"kept"' in body for body in await kept(administrator)] == [True]

    async def test_nothing_that_was_answered_outlives_its_agent(
        self, http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        sent = await writes(engram, agent)
        made = {}
        for name, write in sent.items():
            made[name] = await write.send(http, {"Idempotency-Key": name})
        await http.delete(f"/v1/agents/{made['create_agent'].json()['id']}", headers=KEY)
        # What is left are the deletions themselves, which hold nothing, and a count.
        assert sorted(await kept(administrator)) == [b"", b"", b'{"retried":0,"more":false}']
        assert (await sent["create_memory"].send(http, {"Idempotency-Key": "create_memory"})).status_code == 404

    async def test_an_agent_that_is_deleted_while_an_answer_is_kept_leaves_none(
        self, http: httpx.AsyncClient, agent: Agent, administrator: asyncpg.Connection
    ) -> None:
        write = Write("POST", "/v1/memories", {"agent_id": agent.id, "content": "Alice sings"})
        first = await write.send(http, KEY)
        gone = await administrator.fetchrow("DELETE FROM idempotency_keys WHERE body = $1 RETURNING *", first.content)
        # While somebody else is about to keep an answer under the same key, nobody knows whose it will be.
        another = administrator.transaction()
        await another.start()
        await administrator.execute("INSERT INTO idempotency_keys VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", *gone)
        writing = asyncio.create_task(write.send(http, KEY))
        await until_waiting(administrator, 1)
        deleting = asyncio.create_task(http.delete(f"/v1/agents/{agent.id}"))
        await until_waiting(administrator, 2, unless=deleting)
        await another.rollback()
        assert ((await writing).status_code, (await deleting).status_code) == (200, 204)
        assert await kept(administrator) == []


class TestDocument:
    def test_every_write_names_the_header_and_no_read_does(self) -> None:
        for path, operations in openapi()["paths"].items():
            for method, operation in operations.items():
                writes = method != "get" and operation.get("x-engram-role") in ("writer", "admin")
                # An import is read as it comes, and never repeated by itself.
                writes = writes and operation["operationId"] != "import_agent"
                named = [given for given in operation.get("parameters", []) if given["name"] == "Idempotency-Key"]
                assert len(named) == int(writes), (method, path)
                for status, response in operation["responses"].items():
                    marked = REPLAYED in response.get("headers", {})
                    assert marked == (writes and status.startswith("2")), (method, path, status)
                assert not writes or "422" in operation["responses"]
