"""The entity graph as a file: what other programs find in it is what the database holds."""

from __future__ import annotations

import json
import tracemalloc
from io import BytesIO
from pathlib import Path
from uuid import UUID

import httpx
import networkx
import pytest
import rdflib

from engram import AsyncEngram
from engram.db.database import driver
from engram.entities.exporting import repository as reading
from engram.facts.schemas import MergeCreate
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space

HOSTILE = 'Tab & <"O\'Neill">]]> \x0b \ufffe 漢字 \U0001f600'
URN = rdflib.Namespace("urn:engram:")


async def exported(services: Services, agent_id: str, format: str = "graphml", *, whole: bool = False) -> bytes:
    pieces = services.graph_exports.export(DEFAULT_SCOPE, agent_id, format=format, whole=whole)
    return b"".join([piece async for piece in pieces])


async def fact(space: Space, subject: str, predicate: str, object: str, *, ended: bool = False) -> None:
    """As a row: who writes facts is tested elsewhere."""
    async with space.services.database.transaction() as connection:
        await driver(connection).execute(
            """
            INSERT INTO facts (agent_id, id, tenant_id, subject_node, object_node, slot, recorded_at, updated_at,
                valid_from, valid_until, confidence, supersede, subject, predicate, object)
            SELECT id, gen_random_uuid(), tenant_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(),
                now(), '2026-01-02T03:04:05Z', CASE WHEN $5 THEN timestamptz '2026-02-01' END, 0.75, false, $2, $3, $4
            FROM agents WHERE id = $1
            """,
            UUID(space.agent_id),
            subject,
            predicate,
            object,
            ended,
        )


async def told(services: Services) -> Space:
    space = await new_space(services)
    await space.remember("one", entities=["Billing Service", "the invoice tables", HOSTILE])
    await space.remember("two", entities=["billing service", "invoice table", "Ada"])
    await space.remember("three", entities=["Ada", "Porto"], valid_until="2199-01-01T00:00:00Z")
    year = {"valid_from": "2019-01-01T00:00:00Z", "valid_until": "2020-01-01T00:00:00Z"}
    await space.remember("four", entities=["Porto", "Billing Service"], **year)
    await fact(space, "Ada", "works_at", "The Billing Service")
    await fact(space, "ada", "lives_in", "Porto", ended=True)
    await fact(space, "Ada", "knows", "nobody that is an entity")
    return space


async def database_pairs(space: Space) -> dict[tuple[str, str], int]:
    """Of all observations, by names."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT a.name AS near, b.name AS far, count(*) AS number FROM co_occurrences o"
            " JOIN entities a ON a.agent_id = $1 AND a.id = o.first_id"
            " JOIN entities b ON b.agent_id = $1 AND b.id = o.second_id"
            " WHERE o.agent_id = $1 GROUP BY a.name, b.name",
            UUID(space.agent_id),
        )
    return {_pair(row["near"], row["far"]): row["number"] for row in rows}


def _pair(near: str, far: str) -> tuple[str, str]:
    return (near, far) if near < far else (far, near)


def opened(file: bytes) -> tuple[networkx.MultiDiGraph, dict[tuple[str, str], int], set[tuple[str, str, str]]]:
    """The graph, its pairs by names, and its facts."""
    graph = networkx.read_graphml(BytesIO(file), force_multigraph=True)
    name = {node: data["name"] for node, data in graph.nodes(data=True)}
    edges = list(graph.edges(data=True))
    pairs = {_pair(name[a], name[b]): data["co_occur"] for a, b, data in edges if data["kind"] == "co_occurrence"}
    facts = {(name[a], data["predicate"], name[b]) for a, b, data in edges if data["kind"] == "fact"}
    assert len(pairs) + len(facts) == len(edges)
    return graph, pairs, facts


async def test_networkx_finds_what_the_database_holds(unlinked: Services) -> None:
    space = await told(unlinked)
    whole = await database_pairs(space)
    async with unlinked.database.snapshot() as connection:
        entities = {
            str(row["id"]): row
            for row in await driver(connection).fetch(
                "SELECT e.*, coalesce(d.degree, 0) AS degree FROM entities e LEFT JOIN entity_degrees d"
                " ON d.agent_id = $1 AND d.entity_id = e.id WHERE e.agent_id = $1",
                UUID(space.agent_id),
            )
        }
    graph, pairs, facts = opened(await exported(unlinked, space.agent_id))
    assert dict(graph.nodes(data="degree")) == {id: row["degree"] for id, row in entities.items()}
    shown = {row["name"].replace("\x0b", "\ufffd").replace("\ufffe", "\ufffd") for row in entities.values()}
    assert {data["name"] for _, data in graph.nodes(data=True)} == shown
    assert any("]]>" in name and "漢字 \U0001f600" in name for name in shown)
    (billing,) = (data for _, data in graph.nodes(data=True) if data["name"] == "billing service")
    assert json.loads(billing["aliases"]) == ["Billing Service", "billing service"]
    assert sum(pairs.values()) == sum(whole.values()) - 1, "all but the one that has ended"
    assert pairs[("billing service", "invoice table")] == 2
    assert pairs[("ada", "porto")] == 1, "it holds now, and is to end"
    assert ("billing service", "porto") not in pairs
    assert facts == {("ada", "works_at", "billing service")}

    _, pairs, facts = opened(await exported(unlinked, space.agent_id, whole=True))
    assert len(pairs) == len(whole)
    assert sorted(pairs.values()) == sorted(whole.values())
    assert facts == {("ada", "works_at", "billing service"), ("ada", "lives_in", "porto")}


async def test_rdflib_finds_the_same(unlinked: Services) -> None:
    space = await told(unlinked)
    graph = rdflib.Graph().parse(data=await exported(unlinked, space.agent_id, "jsonld", whole=True), format="json-ld")
    name = {node: str(value) for node, value in graph.subject_objects(rdflib.SDO.name)}
    name |= {node: str(value) for node, value in graph.subject_objects(rdflib.URIRef("http://schema.org/name"))}
    found = {
        _pair(name[graph.value(pair, URN.first)], name[graph.value(pair, URN.second)]): graph.value(
            pair, URN.co_occur
        ).toPython()
        for pair in graph.subjects(rdflib.RDF.type, URN.CoOccurrence)
    }
    assert found == await database_pairs(space), "with characters that XML has no place for"
    facts = {
        (name[graph.value(one, URN.subject)], str(graph.value(one, URN.predicate)), name[graph.value(one, URN.object)])
        for one in graph.subjects(rdflib.RDF.type, URN.Fact)
    }
    assert facts == {("ada", "works_at", "billing service"), ("ada", "lives_in", "porto")}
    (ended,) = graph.subjects(URN.predicate, rdflib.Literal("lives_in"))
    assert graph.value(ended, URN.valid_until).toPython().isoformat() == "2026-02-01T00:00:00+00:00"
    assert graph.value(ended, URN.confidence).toPython() == 0.75


@pytest.mark.parametrize("whole", [False, True])
async def test_merged_entities_are_one_node(unlinked: Services, whole: bool) -> None:
    space = await told(unlinked)
    _, before, _ = opened(await exported(unlinked, space.agent_id, whole=whole))
    merge = MergeCreate(agent_id=space.agent_id, name="invoice table", other="ada")
    await unlinked.facts.merges.merge(DEFAULT_SCOPE, merge)
    graph, pairs, facts = opened(await exported(unlinked, space.agent_id, whole=whole))
    names = {data["name"]: data for _, data in graph.nodes(data=True)}
    assert "ada" not in names
    assert {"Ada", "ada"} <= set(json.loads(names["invoice table"]["aliases"]))
    expected: dict[tuple[str, str], int] = {}
    for (near, far), number in before.items():
        merged = _pair(*("invoice table" if name == "ada" else name for name in (near, far)))
        if merged[0] != merged[1]:
            expected[merged] = expected.get(merged, 0) + number
    assert pairs == expected
    assert ("invoice table", "works_at", "billing service") in facts


async def test_memory_does_not_grow_with_the_graph(unlinked: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PAGE", 50)
    sizes = []
    for count in (100, 200, 1600):
        space = await new_space(unlinked)
        await _many(space, count)
        tracemalloc.start()
        try:
            ends = 0
            pieces = unlinked.graph_exports.export(DEFAULT_SCOPE, space.agent_id, format="graphml", whole=False)
            async for piece in pieces:
                ends += piece.count(b"</node>") + piece.count(b"</edge>")
            assert ends == count + 2 * (count - 3)
            sizes.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert sizes[2] < 1.5 * sizes[1], sizes


async def _many(space: Space, count: int) -> None:
    async with space.services.database.transaction() as connection:
        await driver(connection).execute(
            "INSERT INTO entities (agent_id, tenant_id, id, name, display_name, opening)"
            " SELECT a.id, a.tenant_id, lpad(to_hex(n), 32, '0')::uuid, 'n' || n, 'N' || n, 'n' || n"
            " FROM agents a, generate_series(1, $2::int) AS n WHERE a.id = $1",
            UUID(space.agent_id),
            count,
        )
        await driver(connection).execute(
            "INSERT INTO entity_pairs (agent_id, tenant_id, first_id, second_id, co_occur)"
            " SELECT a.id, a.tenant_id, lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n + step), 32, '0')::uuid, step"
            " FROM agents a, generate_series(1, $2::int - 3) AS n, unnest(ARRAY[1, 3]) AS step WHERE a.id = $1",
            UUID(space.agent_id),
            count,
        )


async def test_by_http_and_by_the_client(
    unlinked: Services, http: httpx.AsyncClient, engram: AsyncEngram, tmp_path: Path
) -> None:
    agent = await engram.agents.create("clerk")
    await engram.memories.create(agent.id, "one", entities=["Ada", "Porto"])
    answer = await http.get(f"/v1/agents/{agent.id}/graph-export", params={"format": "jsonld"})
    assert answer.headers["content-type"] == "application/ld+json"
    assert answer.headers["content-disposition"] == f'attachment; filename="{agent.id}.jsonld"'
    assert len([each for each in answer.json()["@graph"] if each["@type"] == "CoOccurrence"]) == 1
    file = BytesIO()
    assert await engram.agents.export_graph(agent.id).save(file) == len(file.getvalue())
    assert opened(file.getvalue())[1] == {("ada", "porto"): 1}
    events = (await http.get("/v1/audit", params={"agent_id": agent.id})).json()["data"]
    assert [event["details"] for event in events if event["action"] == "graph.export"] == [
        {"format": "graphml", "all": False},
        {"format": "jsonld", "all": False},
    ]
    for wrong in ({"format": "dot"}, {"all": "7"}):
        assert (await http.get(f"/v1/agents/{agent.id}/graph-export", params=wrong)).status_code == 422
