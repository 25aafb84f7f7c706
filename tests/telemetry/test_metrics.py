"""What a scrape says of the work that was done."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import httpx

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import driver
from engram.server.app import create_app
from engram.services import Services
from engram.telemetry.names import STAGES
from tests.fixtures.servers import LOCAL, openapi
from tests.telemetry.scrapes import scrape


async def test_requests_are_counted_by_route_and_outcome(http: httpx.AsyncClient, agent: Agent) -> None:
    for id in (agent.id, agent.id, uuid4()):
        await http.get(f"/v1/agents/{id}")
    await http.get("/v1/agents/x")
    await http.get("/nowhere/at/all")
    await http.request("BREW", "/v1/agents")
    scraped = await scrape(http)
    route = "/v1/agents/{agent_id}"
    requests = scraped.series("engram_http_requests_total")
    assert requests["GET", route, "2xx"] == 2
    assert requests["GET", route, "4xx"] == 2
    assert requests["GET", "unknown", "4xx"] == 1
    assert [key[2] for key in requests if key[0] == "other"] == ["4xx"]
    assert scraped.value("engram_http_request_duration_seconds_count", "GET", route) == 4
    assert scraped.value("engram_http_request_duration_seconds_sum", "GET", route) > 0
    assert scraped.value("engram_http_requests_in_progress") == 1, "the scrape itself"


async def test_a_recall_is_timed_by_its_stages(http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent) -> None:
    await engram.memories.create(agent.id, "Alice moved to Lisbon.", entities=["Alice"])
    await engram.memories.create(agent.id, "Alice likes tea.", entities=["Alice"])
    await engram.memories.recall(agent.id, "Where does Alice live?")
    await engram.memories.recall(agent.id, "Where does Alice live?", max_hops=0)
    scraped = await scrape(http)
    counts = scraped.series("engram_stage_duration_seconds_count")
    assert {stage: counts["recall", stage] for operation, stage in counts if operation == "recall"} == {
        "embed": 2,
        "agent": 2,
        "aim": 0,
        "arms": 2,
        "walk": 1,
        "rank": 2,
        "show": 2,
    }
    assert all(
        scraped.value("engram_stage_duration_seconds_sum", "recall", stage) > 0 for stage in ("arms", "walk", "show")
    )
    assert scraped.value("engram_recall_candidates_count") == 2
    assert scraped.value("engram_recall_candidates_sum") == 4
    assert scraped.value("engram_recalls_truncated_total") == 0
    assert scraped.value("engram_embedder_duration_seconds_count", "query") == 1, "the second time it was kept"


async def test_a_write_is_timed_and_its_memories_are_counted(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
) -> None:
    await engram.memories.create_many(agent.id, ["one", "two", "two"])
    await engram.memories.create(agent.id, "one")
    scraped = await scrape(http)
    assert scraped.value("engram_memories_written_total") == 2
    assert scraped.value("engram_memories_deduplicated_total") == 2
    counts = scraped.series("engram_stage_duration_seconds_count")
    assert {stage: counts["write", stage] for operation, stage in counts if operation == "write"} == {
        "look": 2,
        "embed": 2,
        "prepare": 2,
        "store": 1,
        "link": 1,
    }
    assert scraped.value("engram_embedder_duration_seconds_count", "passage") == 1


async def test_facts_are_counted_as_they_are_stored(http: httpx.AsyncClient, agent: Agent) -> None:
    fact = {"subject": "Alice", "predicate": "likes", "object": "tea"}
    await http.post("/v1/facts", json={"agent_id": agent.id, **fact})
    await http.post("/v1/facts/batch", json={"agent_id": agent.id, "items": [fact, {**fact, "object": "jazz"}]})
    await http.post("/v1/facts", json={"agent_id": agent.id, **fact, "valid_until": "2020-01-01"})
    assert (await scrape(http)).value("engram_facts_written_total") == 3


async def test_every_stage_has_a_series_from_the_start(http: httpx.AsyncClient) -> None:
    counts = (await scrape(http)).series("engram_stage_duration_seconds_count")
    assert set(counts) == {tuple(name.split(".")) for name in STAGES}
    assert counts["recall", "walk"] == 0


async def test_what_is_owed_and_what_failed_is_told(
    http: httpx.AsyncClient, services: Services, engram: AsyncEngram, agent: Agent
) -> None:
    before = await scrape(http)
    assert before.series("engram_projections_pending") == dict.fromkeys([("entities",), ("thematic",)], 0)
    # A database in which links cannot be made.
    async with services.database.transaction() as connection:
        await driver(connection).execute("ALTER TABLE edges RENAME TO edges_elsewhere")
    await engram.memories.create_many(agent.id, ["one", "two"])
    scraped = await scrape(http)
    assert scraped.value("engram_projections_pending", "thematic") == 2
    assert scraped.value("engram_projections_pending_failed", "thematic") == 2
    assert scraped.value("engram_projections_oldest_seconds", "thematic") > 0
    assert scraped.value("engram_projection_failures_total", "thematic") == 1
    assert scraped.value("engram_projections_pending", "entities") == 0


async def test_the_pool_is_told(http: httpx.AsyncClient, services: Services) -> None:
    async with services.database.transaction():
        scraped = await scrape(http)
    assert scraped.value("engram_database_pool_limit") == services.settings.pool_size
    assert scraped.value("engram_database_pool_connections", "in_use") >= 1
    assert scraped.value("engram_database_pool_waiting") == 0
    assert scraped.value("engram_database_pool_timeouts_total") == 0


async def test_sizes_of_tables_and_indexes_are_told_and_kept_for_a_while(
    http: httpx.AsyncClient, services: Services, engram: AsyncEngram, agent: Agent
) -> None:
    first = await scrape(http)
    assert first.value("engram_table_bytes", "memories") > 0
    assert first.value("engram_table_index_bytes", "memories") > 0
    async with services.database.transaction() as connection:
        tables = await driver(connection).fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert {table for (table,) in first.series("engram_table_bytes")} == {name for (name,) in tables} - {
        "alembic_version"
    }
    assert ("memories",) not in first.series("engram_table_rows"), "nobody has counted them"
    await engram.memories.create_many(agent.id, [f"memory number {number} " * 20 for number in range(100)])
    async with services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    assert (await scrape(http)).series("engram_table_bytes") == first.series("engram_table_bytes")
    fresh = httpx.AsyncClient(transport=httpx.ASGITransport(create_app(services=services)), base_url=LOCAL)
    async with fresh:
        later = await scrape(fresh)
    assert later.value("engram_table_bytes", "memories") > first.value("engram_table_bytes", "memories")
    assert later.value("engram_table_rows", "memories") == 100


async def test_the_process_is_told_under_the_usual_names(http: httpx.AsyncClient) -> None:
    scraped = await scrape(http)
    assert scraped.value("process_resident_memory_bytes") > 1e6
    assert {"process_cpu_seconds_total", "python_info", "python_gc_collections_total"} <= scraped.names()


async def test_two_apps_are_measured_apart(http: httpx.AsyncClient, services: Services, agent: Agent) -> None:
    await http.get(f"/v1/agents/{agent.id}")
    other = httpx.AsyncClient(transport=httpx.ASGITransport(create_app(services=services)), base_url=LOCAL)
    async with other:
        assert (await scrape(other)).series("engram_http_requests_total") == {}


async def test_nothing_that_a_client_sent_is_in_a_scrape(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent
) -> None:
    memory = await engram.memories.create(agent.id, "zirconium", user_id="zirconium", entities=["Zirconium"])
    await engram.memories.recall(agent.id, "zirconium?", user_id="zirconium")
    await engram.memories.get(memory.id)
    await http.get("/zirconium", params={"zirconium": "zirconium"}, headers={"x-request-id": "zirconium"})
    await http.request("ZIRCONIUM", "/zirconium")
    scraped = (await scrape(http)).text
    for sent in ("zirconium", "clerk", agent.id, memory.id):
        assert sent.lower() not in scraped.lower()


async def test_a_page_for_the_operator_is_no_part_of_the_api(http: httpx.AsyncClient) -> None:
    assert "/metrics" not in openapi()["paths"]
    assert (await http.get("/metrics?x=1")).status_code == 422
    assert (await http.post("/metrics")).status_code == 405


async def test_scrapes_at_once_share_one_look_at_the_database(http: httpx.AsyncClient) -> None:
    scrapers = 8
    before = (await scrape(http)).value("engram_stage_duration_seconds_count", "database", "connection")
    await asyncio.gather(*(scrape(http) for _ in range(scrapers)))
    after = (await scrape(http)).value("engram_stage_duration_seconds_count", "database", "connection")
    # Each asks whether there are keys. The rest, five questions, is read for all, or a few times where some were slow,
    # and not by each: that would be six for each.
    assert after - before < 5 * scrapers
