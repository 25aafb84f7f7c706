"""A server on a port, and the blocking SDK."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from engram import Engram, NotFoundError, UnprocessableEntityError


def test_the_blocking_sdk_does_all_that_there_is(live_server: str) -> None:
    with Engram(live_server, max_retries=0) as client:
        assert client.health().status == "ok"
        agent = client.agents.create("clerk")
        moved = client.memories.create(agent.id, "Alice moved to Lisbon", entities=["Alice"], session_id="s")
        batch = client.memories.create_many(agent.id, ["Alice likes fado", {"content": "Rain", "session_id": "s"}])
        assert batch.created == 2
        assert client.memories.get(moved.id).entities[0].name == "Alice"
        assert len(list(client.memories.list(agent.id, limit=1))) == 3
        answer = client.memories.recall(agent.id, "Where did Alice move?")
        assert answer.results[0].id == moved.id
        assert any(hit.path for hit in answer)
        client.graph.create_edge(moved.id, batch.results[0].id, "causal")
        assert "causal" in {edge.relation_type for edge in client.graph.get_edges(moved.id)}
        client.graph.delete_edge(moved.id, batch.results[0].id, "causal")
        client.memories.delete(moved.id)
        assert client.agents.stats(agent.id).memories == 2
        assert client.agents.update(agent.id, name="chief").name == "chief"
        client.agents.delete(agent.id)
        with pytest.raises(NotFoundError):
            client.agents.get(agent.id)


def test_many_clients_at_once_are_all_answered(live_server: str) -> None:
    with Engram(live_server, max_retries=0) as client, ThreadPoolExecutor(20) as threads:
        agent = client.agents.create("clerk")
        same = list(threads.map(lambda _: client.memories.create(agent.id, "said at once"), range(20)))
        assert len({memory.id for memory in same}) == 1
        assert sorted(memory.deduplicated for memory in same) == [False] + [True] * 19
        answers = list(threads.map(lambda _: client.memories.recall(agent.id, "said"), range(40)))
        assert {hit.id for answer in answers for hit in answer} == {same[0].id}


def test_a_wrong_argument_is_told_by_name(live_server: str) -> None:
    with Engram(live_server) as client:
        agent = client.agents.create("clerk")
        with pytest.raises(UnprocessableEntityError) as caught:
            client.memories.recall(agent.id, "x", top_k=0)
        assert [error.field for error in caught.value.errors] == ["top_k"]
        assert caught.value.request_id


class TestLargeBodies:
    LIMIT = 100_000

    @pytest.fixture
    def url(self, live_server_with: Callable[..., str]) -> str:
        return live_server_with(max_body_bytes=self.LIMIT)

    def test_one_is_refused_before_it_is_sent_to_the_end(self, url: str) -> None:
        response = httpx.post(f"{url}/v1/agents", json={"name": "x" * 20_000_000})
        assert (response.status_code, response.json()["type"]) == (413, "body-too-large")

    def test_one_in_pieces_is_refused_too(self, url: str) -> None:
        def pieces() -> Iterator[bytes]:
            for _ in range(1000):
                yield b" " * 1000

        headers = {"content-type": "application/json"}
        response = httpx.post(f"{url}/v1/agents", content=pieces(), headers=headers)
        assert (response.status_code, response.json()["type"]) == (413, "body-too-large")

    def test_the_connection_can_be_used_again(self, url: str) -> None:
        with httpx.Client(base_url=url) as client:
            client.post("/v1/agents", json={"name": "x" * 200_000})
            assert client.get("/v1/agents").json()["data"] == []


async def test_health_answers_while_a_large_body_is_read(live_server: str) -> None:
    """Each answer is quick beside the work: how long either takes depends on the machine."""
    item = {"content": "x", "metadata": {"rows": [[number, str(number)] for number in range(300)]}}
    body = {"agent_id": "01890a5d-ac96-774b-bcce-b302099a8057", "items": [item] * 900}
    content, headers = json.dumps(body).encode(), {"content-type": "application/json"}
    clock = asyncio.get_running_loop().time
    async with httpx.AsyncClient(base_url=live_server, timeout=60) as client:
        started = clock()
        writing = asyncio.create_task(client.post("/v1/memories/batch", content=content, headers=headers))
        longest = 0.0
        while not writing.done():
            asked = clock()
            assert (await client.get("/health/live")).status_code == 200
            longest = max(longest, clock() - asked)
        assert (await writing).status_code == 404
    assert longest < (clock() - started) / 2


def test_what_is_not_http_gets_an_answer_and_harms_nobody(live_server: str) -> None:
    address = (urlsplit(live_server).hostname, urlsplit(live_server).port)
    for noise in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\x00" * 1000):
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            assert b"200 OK" not in connection.recv(100)
    assert httpx.get(f"{live_server}/health/live").status_code == 200
