"""What facts are measured beside gives the same answers, and sets are read as they are meant."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from uuid import UUID

import networkx as nx  # type: ignore[import-untyped]

from benchmarks.facts import beside
from benchmarks.facts.sets import dated_facts, numbered_facts, own_name, triples
from benchmarks.facts.statement import ByHand
from benchmarks.facts.walker import Walker
from benchmarks.figures import Size
from benchmarks.store import Stores
from engram.agents.schemas import AgentCreate
from engram.db.embedded import EmbeddedPostgres
from engram.facts import FactGraph
from engram.facts.keys import node_key
from engram.facts.schemas import FactBatch
from engram.tenants.scope import DEFAULT_SCOPE


def _write(file: Path, *rows: str) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(row.replace(" ", "\t") + "\n" for row in rows)


def test_a_last_day_is_part_of_the_time_in_which_a_fact_holds(tmp_path: Path) -> None:
    _write(
        tmp_path / "facts.tsv.gz",
        "a owns b 0360-01-01 0360-12-31 r r train",
        "a owns c 1963-64-65  r r train",
        "a owns d  1850-02-28 r r train",
        "a owns e 1900-01-01 1899-01-01 r r train",
        "a owns f   r r train",
    )
    dated = dated_facts(tmp_path)
    assert [(item["object"], item["valid_from"], item["valid_until"]) for item in dated.items] == [
        ("b", "0360-01-01", "0361-01-01"),
        ("c", "1963-01-01", None),
        ("d", "0001-01-01", "1850-03-01"),
    ]
    assert (dated.inverted, dated.undated) == (1, 1)


def test_entities_of_one_label_are_told_apart_and_counted(tmp_path: Path) -> None:
    _write(tmp_path / "entities.tsv.gz", *(f"{n} m{n} Q{n} Washington County" for n in range(3)))
    _write(tmp_path / "relations.tsv.gz", "0 near", "1 in")
    for part, row in (("train", "0 0 1"), ("valid", "0 1 2"), ("test", "0 1 1")):
        _write(tmp_path / f"{part}.tsv.gz", row)
    facts = numbered_facts(tmp_path)
    assert facts.hub() == (own_name(0, "Washington"), 3)
    assert facts.of_median_degree() == [own_name(1, "Washington")]
    assert [item["predicate"] for item in facts.items] == ["near", "in", "in"]


async def test_statements_by_hand_and_networkx_walk_as_we_do(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    random = Random(3)
    names = [f"node{n}" for n in range(25)]
    _write(
        tmp_path / "kb.tsv.gz",
        *(" ".join((*random.choices(names, k=1), "r", random.choice(names))) for _ in range(150)),
    )
    items = triples(tmp_path / "kb.tsv.gz")
    graph = nx.MultiDiGraph()
    for place, item in enumerate(items):
        graph.add_edge(item["subject"], item["object"], place=place)
    async with Stores(postgres, tmp_path).fresh(Size(facts=150)) as store, store.services() as services:
        agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="a"))
        batch = FactBatch.model_validate({"agent_id": agent.id, "items": items})
        ids = (await services.facts.append_many(DEFAULT_SCOPE, batch)).ids
        walker = Walker(services, UUID(agent.id))
        inside = FactGraph.from_facts(await walker.facts())
        async with store.connection() as connection:
            hand = await ByHand.prepared(connection, agent.id)
            for start in names:
                for limit in (7, 5000):
                    ours = [[fact.id for fact in path.facts] for path in await walker.walk(start, hops=2, limit=limit)]
                    assert ours == [
                        [fact.id for fact in path.facts] for path in inside.traverse([start], hops=2, limit=limit)
                    ]
                    for statement in ("all", "first"):
                        rows = await hand.walk(statement, node_key(None, start), limit)
                        assert ours == [
                            [str(row[key]) for key in ("id1", "id2") if row[key] is not None] for row in rows
                        ]
                    if start in graph:
                        found = beside.walk(graph, start, limit)
                        assert ours == [[ids[-place] for place in places] for _, _, places in found]
