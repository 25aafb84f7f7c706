"""Facts over HTTP: what each route does, and what it refuses by name."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


class Facts:
    """The routes, for one agent."""

    def __init__(self, http: httpx.AsyncClient, agent_id: str) -> None:
        self.http = http
        self.agent_id = agent_id

    async def append(self, subject: str, predicate: str, object: str, **more: Any) -> Any:
        fact = {"subject": subject, "predicate": predicate, "object": object, **more}
        answer = await self.http.post("/v1/facts", json={"agent_id": self.agent_id, **fact})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def query(self, **params: Any) -> list[Any]:
        answer = await self.http.get("/v1/facts", params={"agent_id": self.agent_id, **params})
        assert answer.status_code == 200, answer.text
        data: list[Any] = answer.json()["data"]
        return data

    async def objects(self, **params: Any) -> list[str]:
        return [fact["object"] for fact in await self.query(**params)]

    async def change(self, what: str, id: str) -> Any:
        answer = await self.http.post(f"/v1/facts/{id}/{what}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def delete(self, id: str) -> Any:
        return (await self.http.delete(f"/v1/facts/{id}")).raise_for_status().json()

    async def walk(self, query: str, **options: Any) -> Any:
        answer = await self.http.post(
            "/v1/facts/recall-graph", json={"agent_id": self.agent_id, "query": query, **options}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def rendered(self, query: str, **options: Any) -> list[str]:
        return [path["rendered"] for path in (await self.walk(query, **options))["paths"]]


@pytest.fixture
def facts(http: httpx.AsyncClient, agent_id: str) -> Facts:
    return Facts(http, agent_id)


class TestAppending:
    async def test_a_fact_is_kept_as_it_was_said_and_its_predicate_in_one_spelling(self, facts: Facts) -> None:
        said = {"confidence": 0.5, "sources": ["a talk"], "valid_from": "2024-01-01", "valid_until": "2025-01-01"}
        fact = await facts.append(" Alice  Smith", "worksAt", "ACME", **said)
        assert (fact["subject"], fact["predicate"], fact["object"]) == (" Alice  Smith", "works_at", "ACME")
        assert (fact["confidence"], fact["sources"], fact["status"]) == (0.5, ["a talk"], "standing")
        assert (fact["valid_from"], fact["valid_until"]) == ("2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z")
        assert (fact["user_id"], fact["closed"], fact["closed_by"]) == (None, [], None)
        del fact["closed"]
        assert (await facts.http.get(f"/v1/facts/{fact['id']}")).json() == fact
        assert await facts.query(predicate="works-at") == [fact]

    async def test_one_that_says_otherwise_ends_the_one_before(self, facts: Facts) -> None:
        acme = await facts.append("alice", "works_at", "acme", valid_from="2024-01-01")
        initech = await facts.append("alice", "works_at", "initech", valid_from="2024-02-01")
        assert initech["closed"] == [acme["id"]]
        (ended,) = await facts.query(object="acme")
        assert ended["valid_until"] == "2024-02-01T00:00:00Z"
        assert (ended["closed_by"], ended["superseded_by"]) == ("supersession", initech["id"])
        assert ended["stated_until"] is None
        # The window has its beginning, and not its end.
        assert await facts.objects(valid_at="2024-01-31T23:59:59.999999Z") == ["acme"]
        assert await facts.objects(valid_at="2024-02-01") == ["initech"]
        assert await facts.objects(valid_at="2023-12-31") == []
        assert await facts.objects() == ["initech", "acme"]

    async def test_a_late_one_is_ended_by_what_is_there(self, facts: Facts) -> None:
        initech = await facts.append("alice", "works_at", "initech", valid_from="2024-02-01")
        acme = await facts.append("alice", "works_at", "acme", valid_from="2024-01-01")
        assert (acme["valid_until"], acme["superseded_by"]) == ("2024-02-01T00:00:00Z", initech["id"])
        assert acme["closed"] == []

    async def test_many_values_stand_where_they_are_to(self, facts: Facts) -> None:
        for name in ("bob", "carol"):
            await facts.append("alice", "knows", name, supersede=False)
        # The same again is there again.
        await facts.append("alice", "knows", "carol")
        assert [fact["valid_until"] for fact in await facts.query(object="carol")] == [None, None]

    async def test_a_batch_is_appended_in_its_order(self, facts: Facts) -> None:
        before = await facts.append("alice", "lives_in", "faro", valid_from="2020-01-01")
        items = [
            {"subject": "alice", "predicate": "lives_in", "object": city, "valid_from": f"202{year}-01-01"}
            for year, city in enumerate(("lisbon", "porto", "braga"), 1)
        ]
        answer = await facts.http.post("/v1/facts/batch", json={"agent_id": facts.agent_id, "items": items})
        assert (answer.status_code, answer.json()["closed"]) == (201, [before["id"]])
        stored = await facts.query()
        assert [fact["id"] for fact in reversed(stored)] == [before["id"], *answer.json()["ids"]]
        assert [fact["valid_until"] for fact in stored[:2]] == [None, "2023-01-01T00:00:00Z"]

    async def test_of_a_batch_with_one_wrong_item_nothing_is_stored(self, facts: Facts) -> None:
        good = {"subject": "alice", "predicate": "knows", "object": "bob"}
        for wrong, field in (
            ({"object": " "}, "items.1.object"),
            ({"valid_until": "2001-01-01"}, "items.1.valid_until"),
            ({"valid_from": "2024-01-01", "valid_until": "2024-01-01"}, "items.1"),
            ({"agent_id": facts.agent_id}, "items.1.agent_id"),
        ):
            items = [good, {**good, **wrong}, good]
            answer = await facts.http.post("/v1/facts/batch", json={"agent_id": facts.agent_id, "items": items})
            assert answer.status_code == 422, wrong
            assert [error["field"] for error in answer.json()["errors"]] == [field]
        assert await facts.query() == []


class TestChanging:
    async def test_what_is_deleted_goes_and_what_it_ended_stays_ended(self, facts: Facts) -> None:
        acme = await facts.append("alice", "works_at", "acme", valid_from="2024-01-01")
        initech = await facts.append("alice", "works_at", "initech", valid_from="2024-02-01")
        deleted = await facts.delete(initech["id"])
        assert (deleted["status"], deleted["changed"]) == ("deleted", [])
        assert await facts.objects() == ["acme"]
        assert (await facts.query())[0]["valid_until"] == "2024-02-01T00:00:00Z"
        assert await facts.rendered("alice") == []
        for method, path in (("GET", ""), ("DELETE", "")):
            answer = await facts.http.request(method, f"/v1/facts/{initech['id']}{path}")
            assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
        # Taken back after that, it ended nothing either.
        undone = await facts.change("undo", initech["id"])
        assert (undone["status"], undone["changed"]) == ("undone", [acme["id"]])
        assert (await facts.query())[0]["valid_until"] is None
        assert (await facts.http.post(f"/v1/facts/{initech['id']}/undo")).status_code == 404
        restored = await facts.change("restore", initech["id"])
        assert (restored["status"], restored["changed"]) == ("standing", [acme["id"]])
        assert await facts.objects(valid_at="2030-01-01") == ["initech"]
        again = await facts.http.post(f"/v1/facts/{initech['id']}/restore")
        assert (again.status_code, again.json()["type"]) == (409, "conflict")

    async def test_what_was_believed_at_any_moment_can_be_told(self, facts: Facts) -> None:
        acme = await facts.append("alice", "works_at", "acme", valid_from="2024-01-01")
        initech = await facts.append("alice", "works_at", "initech", valid_from="2024-02-01")
        undone = await facts.change("undo", initech["id"])
        moments = [acme["recorded_at"], initech["recorded_at"], undone["updated_at"]]
        told = [await facts.objects(valid_at="2024-06-01", known_at=moment) for moment in moments]
        assert told == [["acme"], ["initech"], ["acme"]]
        walked = [await facts.rendered("alice", known_at=moment) for moment in moments]
        assert walked == [["alice —works_at→ acme"], ["alice —works_at→ initech"], ["alice —works_at→ acme"]]
        earlier = datetime.fromisoformat(acme["recorded_at"]) - timedelta(microseconds=1)
        assert await facts.query(known_at=earlier.isoformat()) == []
        known = await facts.http.get(f"/v1/facts/{initech['id']}", params={"known_at": initech["recorded_at"]})
        assert known.json()["status"] == "standing"
        history = (await facts.http.get(f"/v1/facts/{acme['id']}/history")).json()
        assert history["fact"] == (await facts.query(object="acme"))[0]
        assert [(belief["valid_until"], belief["superseded_by"]) for belief in history["beliefs"]] == [
            (None, None),
            ("2024-02-01T00:00:00Z", initech["id"]),
            (None, None),
        ]
        learnt = [belief["recorded_at"] for belief in history["beliefs"]]
        assert learnt == sorted(learnt)
        taken_back = (await facts.http.get(f"/v1/facts/{initech['id']}/history")).json()
        assert [belief["status"] for belief in taken_back["beliefs"]] == ["standing", "undone"]


class TestQuerying:
    async def test_pages_are_complete_and_stay_so_while_facts_are_added(self, facts: Facts) -> None:
        items = [{"subject": f"s{n}", "predicate": "is", "object": "there"} for n in range(25)]
        for part in (items[:13], items[13:]):
            await facts.http.post("/v1/facts/batch", json={"agent_id": facts.agent_id, "items": part})
        before = await facts.query(limit=200)
        seen: list[Any] = []
        params: dict[str, Any] = {"agent_id": facts.agent_id, "limit": 4}
        while True:
            page = (await facts.http.get("/v1/facts", params=params)).raise_for_status().json()
            seen += page["data"]
            await facts.append(f"newcomer {len(seen)}", "is", "there")
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
        assert seen == before
        assert [fact["subject"] for fact in seen] == [f"s{n}" for n in reversed(range(25))]

    async def test_users_and_nobody_are_partitions(self, facts: Facts) -> None:
        for user, city in ((None, "oslo"), ("u1", "rome"), ("u2", "kyiv")):
            # Nothing ends what is another's.
            await facts.append("alice", "lives_in", city, **({"user_id": user} if user else {}))
        for params, city in (({}, "oslo"), ({"user_id": "u1"}, "rome"), ({"user_id": "u2"}, "kyiv")):
            assert await facts.objects(**params) == [city]
            assert await facts.rendered("alice", **params) == [f"alice —lives_in→ {city}"]
        assert await facts.query(user_id="u3") == []


class TestWalking:
    async def test_two_facts_answer_together(self, facts: Facts) -> None:
        memory = {"agent_id": facts.agent_id, "content": "Acme moved its office to Tokyo."}
        source = (await facts.http.post("/v1/memories", json=memory)).json()["id"]
        await facts.append("Alice", "works_at", "Acme")
        moved = await facts.append("ACME", "operates_in", "Tokyo", sources=[source, "a letter"])
        answer = await facts.walk("where does alice's employer operate?")
        assert [path["rendered"] for path in answer["paths"]] == [
            "alice —works_at→ acme",
            "alice —works_at→ acme —operates_in→ tokyo",
        ]
        whole = answer["paths"][1]
        assert whole["nodes"] == ["alice", "acme", "tokyo"]
        assert [edge["forward"] for edge in whole["edges"]] == [True, True]
        assert whole["edges"][1]["fact"] == {key: value for key, value in moved.items() if key != "closed"}
        assert answer["memories"] == [{"id": source, "content": memory["content"], "content_truncated": False}]
        assert not answer["truncated"]
        # A user is shown no memory of another.
        private = {**memory, "content": "Bob's lease ends in May.", "user_id": "bob"}
        named = (await facts.http.post("/v1/memories", json=private)).json()["id"]
        for user in ("bob", "carol"):
            await facts.append("Bob", "leaves", "Tokyo", sources=[source, named], user_id=user)
            shown = (await facts.walk("Bob", user_id=user))["memories"]
            assert [one["id"] for one in shown] == ([source, named] if user == "bob" else [source])
        assert await facts.rendered("tokyo") == [
            "tokyo ←operates_in— acme",
            "tokyo ←operates_in— acme ←works_at— alice",
        ]

    async def test_a_bound_that_bites_is_said(self, facts: Facts) -> None:
        for name in ("bob", "carol", "dan"):
            await facts.append("alice", "knows", name, supersede=False)
        for limit, truncated in ((2, True), (3, False), (4, False)):
            answer = await facts.walk("alice", limit=limit)
            assert (len(answer["paths"]), answer["truncated"]) == (min(limit, 3), truncated)
        for nothing in ({"hops": 0}, {"limit": 0}, {"query": "who is it?"}):
            assert (await facts.walk(**{"query": "alice", **nothing}))["paths"] == []

    async def test_names_are_one_node_for_as_long_as_somebody_says_so(self, facts: Facts) -> None:
        await facts.append("Robert", "works_at", "Acme")
        assert await facts.rendered("bob") == []
        names = {"agent_id": facts.agent_id, "name": "Bob", "other": "Robert"}
        await facts.append("Bob", "likes", "tea")
        merge = (await facts.http.post("/v1/facts/merge", json=names)).raise_for_status().json()
        assert (merge["canonical"], merge["undone_at"]) == ("bob", None)
        # What is walked changes, and what was said does not.
        assert await facts.rendered("bob") == ["bob —likes→ tea", "robert —works_at→ acme"]
        again = await facts.http.post("/v1/facts/merge", json={**names, "name": "robert ", "other": "BOB"})
        assert (again.status_code, again.json()["type"]) == (409, "conflict")
        undone = (await facts.http.delete(f"/v1/facts/merge/{merge['id']}")).raise_for_status().json()
        assert await facts.rendered("bob") == ["bob —likes→ tea"]
        assert (await facts.http.delete(f"/v1/facts/merge/{merge['id']}")).status_code == 404
        listed = {"agent_id": facts.agent_id}
        assert (await facts.http.get("/v1/facts/merge", params=listed)).json()["data"] == []
        listed["include_undone"] = "true"
        assert (await facts.http.get("/v1/facts/merge", params=listed)).json()["data"] == [undone]

    async def test_merges_come_in_pages(self, facts: Facts) -> None:
        for number in range(5):
            names = {"name": f"a{number}", "other": f"b{number}"}
            (await facts.http.post("/v1/facts/merge", json={"agent_id": facts.agent_id, **names})).raise_for_status()
        seen: list[str] = []
        params: dict[str, Any] = {"agent_id": facts.agent_id, "limit": 2}
        while params.get("cursor", "") is not None:
            page = (await facts.http.get("/v1/facts/merge", params=params)).raise_for_status().json()
            seen += [merge["name"] for merge in page["data"]]
            params["cursor"] = page["next_cursor"]
        assert seen == [f"a{number}" for number in reversed(range(5))]


FACT = {"subject": "alice", "predicate": "knows", "object": "bob"}
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({name: " \u200b"}, name) for name in FACT),
    *(({name: "a\x00b"}, name) for name in FACT),
    *(({name: "a\x1bb"}, name) for name in FACT),
    *(({name: None}, name) for name in FACT),
    *(({name: "x" * 513}, name) for name in FACT),
    ({"predicate": "- _"}, "predicate"),
    ({"user_id": ""}, "user_id"),
    ({"confidence": 1.01}, "confidence"),
    ({"confidence": True}, "confidence"),
    ({"supersede": 1}, "supersede"),
    ({"valid_from": "yesterday"}, "valid_from"),
    ({"valid_from": 1704067200}, "valid_from"),
    ({"valid_from": "2024-02-30"}, "valid_from"),
    ({"valid_until": "0001-01-01T00:00:00+01:00"}, "valid_until"),
    ({"valid_from": "2024-02-01", "valid_until": "2024-01-01"}, "body"),
    ({"valid_until": "2001-01-01"}, "valid_until"),
    ({"sources": "one"}, "sources"),
    ({"sources": ["x"] * 65}, "sources"),
    ({"sources": ["fine", ""]}, "sources.1"),
    ({"agent_id": "clerk"}, "agent_id"),
    ({"id": NOWHERE}, "id"),
    ({"recorded_at": "2024-01-01"}, "recorded_at"),
]
WRONG_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"query": " "}, "query"),
    ({"query": "a\x00"}, "query"),
    ({"hops": 5}, "hops"),
    ({"hops": -1}, "hops"),
    ({"hops": False}, "hops"),
    ({"limit": 201}, "limit"),
    ({"limit": -1}, "limit"),
    ({"limit": 1.5}, "limit"),
    ({"valid_at": "never"}, "valid_at"),
    ({"known_at": 5}, "known_at"),
    ({"fetch_limit": 10}, "fetch_limit"),
    ({"agent_id": "clerk"}, "agent_id"),
]


class TestRefusals:
    async def test_what_is_wrong_with_a_fact_is_named(self, facts: Facts) -> None:
        for wrong, field in WRONG:
            answer = await facts.http.post("/v1/facts", json={"agent_id": facts.agent_id, **FACT, **wrong})
            assert (answer.status_code, answer.json()["type"]) == (422, "invalid-input"), wrong
            assert [error["field"] for error in answer.json()["errors"]] == [field], wrong
        assert await facts.query() == []

    async def test_what_is_wrong_with_a_question_is_named(self, facts: Facts) -> None:
        for wrong, field in WRONG_QUESTIONS:
            body = {"agent_id": facts.agent_id, "query": "alice", **wrong}
            answer = await facts.http.post("/v1/facts/recall-graph", json=body)
            assert answer.status_code == 422, wrong
            assert [error["field"] for error in answer.json()["errors"]] == [field], wrong

    async def test_what_is_wrong_with_other_requests_is_named(self, facts: Facts) -> None:
        listed = {"agent_id": facts.agent_id}
        requests: list[tuple[str, str, dict[str, Any], str]] = [
            ("GET", "/v1/facts", {"params": {}}, "agent_id"),
            ("GET", "/v1/facts", {"params": {**listed, "limit": 0}}, "limit"),
            ("GET", "/v1/facts", {"params": {**listed, "limit": 201}}, "limit"),
            ("GET", "/v1/facts", {"params": {**listed, "predicate": "-"}}, "predicate"),
            ("GET", "/v1/facts", {"params": {**listed, "subject": ""}}, "subject"),
            ("GET", "/v1/facts", {"params": {**listed, "valid_at": "soon"}}, "valid_at"),
            ("GET", "/v1/facts", {"params": {**listed, "cursor": "xyz"}}, "cursor"),
            ("GET", "/v1/facts", {"params": {**listed, "since": "2024-01-01"}}, "since"),
            ("GET", "/v1/facts/alice", {}, "fact_id"),
            ("GET", "/v1/facts/alice/history", {}, "fact_id"),
            ("GET", f"/v1/facts/{NOWHERE}", {"params": {"known_at": "soon"}}, "known_at"),
            ("DELETE", "/v1/facts/alice", {}, "fact_id"),
            ("POST", "/v1/facts/alice/undo", {}, "fact_id"),
            ("POST", "/v1/facts/alice/restore", {}, "fact_id"),
            ("POST", "/v1/facts/batch", {"json": {**listed, "items": []}}, "items"),
            ("POST", "/v1/facts/batch", {"json": {**listed, "items": [FACT] * 1001}}, "items"),
            ("POST", "/v1/facts/merge", {"json": {**listed, "name": "Bob", "other": " BOB"}}, "other"),
            ("POST", "/v1/facts/merge", {"json": {**listed, "name": "\t", "other": "Bob"}}, "name"),
            ("GET", "/v1/facts/merge", {"params": {**listed, "include_undone": "perhaps"}}, "include_undone"),
            ("DELETE", "/v1/facts/merge/bob", {}, "merge_id"),
        ]
        for method, path, asked, field in requests:
            answer = await facts.http.request(method, path, **asked)
            assert answer.status_code == 422, (method, path, asked, answer.text[:200])
            assert [error["field"] for error in answer.json()["errors"]] == [field], (method, path, answer.text)
        assert await facts.query() == []

    async def test_what_is_nowhere_is_not_found(self, facts: Facts) -> None:
        nowhere = {"agent_id": NOWHERE}
        requests: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/v1/facts", {"json": {**nowhere, **FACT}}),
            ("POST", "/v1/facts/batch", {"json": {**nowhere, "items": [FACT]}}),
            ("POST", "/v1/facts/recall-graph", {"json": {**nowhere, "query": "alice"}}),
            ("POST", "/v1/facts/merge", {"json": {**nowhere, "name": "a", "other": "b"}}),
            ("GET", "/v1/facts", {"params": nowhere}),
            ("GET", "/v1/facts/merge", {"params": nowhere}),
            *(("POST", f"/v1/facts/{NOWHERE}/{what}", {}) for what in ("undo", "restore")),
            *(("GET", f"/v1/facts/{NOWHERE}{what}", {}) for what in ("", "/history")),
            ("DELETE", f"/v1/facts/{NOWHERE}", {}),
            ("DELETE", f"/v1/facts/merge/{NOWHERE}", {}),
        ]
        for method, path, asked in requests:
            answer = await facts.http.request(method, path, **asked)
            assert (answer.status_code, answer.json()["type"]) == (404, "not-found"), (method, path)
            assert NOWHERE in answer.json()["detail"]

    async def test_a_thousand_facts_go_into_one_batch(self, facts: Facts) -> None:
        items = [{**FACT, "object": f"o{n}", "supersede": False} for n in range(1000)]
        answer = await facts.http.post("/v1/facts/batch", json={"agent_id": facts.agent_id, "items": items})
        assert (answer.status_code, len(set(answer.json()["ids"]))) == (201, 1000)
