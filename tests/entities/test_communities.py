"""Communities: which entities are put together, by what name, and what of the agent is read for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from engram.db.database import driver
from engram.entities.communities.computing import CommunityTuning, computed
from engram.entities.communities.partition import Pairs, partition
from engram.entities.graph.schemas import TraverseRequest
from engram.facts.schemas import MergeCreate
from engram.jobs.clustering import ChangedAgents
from engram.jobs.schemas import JobStatus
from engram.problems import ConflictProblem
from engram.services import Services, assemble
from engram.settings import Settings
from engram.tenants.database import TenantDatabase
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.fixtures.wiring import HashEmbedder, opened
from tests.jobs.working import until, working

Edges = list[tuple[int, int]]
NONE: dict[tuple[int, int], int] = {}
TOPICS = (
    ("billing service", "invoice table", "ledger worker", "tax rule"),
    ("search index", "ranking model", "query parser", "synonym list"),
    ("door sensor", "night alarm", "badge reader", "gate motor"),
)


def together(
    edges: Iterable[tuple[int, int]], count: int, *, hub_drop: float = 0.01, weights: dict[tuple[int, int], int] = NONE
) -> list[list[int]]:
    """Levels, the finest first."""
    ordered = sorted(set(edges))
    first, second = np.array(ordered, dtype=np.int64).T
    weight = np.array([weights.get(edge, 1) for edge in ordered])
    found = partition(Pairs(first, second, weight), count, hub_drop=hub_drop, giant_share=0.25)
    return [level.tolist() for level in found.levels]


def clique(*members: int) -> Edges:
    return [(near, far) for near in members for far in members if near < far]


def test_what_occurs_together_is_one_community_named_by_its_strongest_member() -> None:
    (level, *_) = together([*clique(0, 1, 2), *clique(3, 4, 5, 6)], 8)
    assert level == [0, 0, 0, 3, 3, 3, 3, -1], "seven occurs with nothing"


def test_hubs_that_would_fuse_everything_are_left_out() -> None:
    """Twenty groups of ten, and five names that occur with all."""
    groups = [clique(*range(5 + 10 * group, 15 + 10 * group)) for group in range(20)]
    hubs = [(hub, node) for hub in range(5) for node in range(5, 205)] + clique(*range(5))
    edges = [edge for group in groups for edge in group] + hubs
    fused = together(edges, 205, hub_drop=0)
    assert max(np.unique(fused[0], return_counts=True)[1]) > 100
    level, *_ = together(edges, 205)
    # Doubled to the first eight by strength: three of the first group went with them.
    assert level == [-1] * 8 + [8] * 7 + [5 + 10 * group for group in range(1, 20) for _ in range(10)]


def test_levels_put_the_communities_below_together() -> None:
    """Twelve regions of three groups of six: groups of a region are tied by several pairs, regions by none."""
    ties, groups = [], [clique(*range(6 * group, 6 * group + 6)) for group in range(36)]
    for group in range(36):
        beside = 3 * (group // 3) + (group + 1) % 3
        ties += [(6 * min(group, beside) + place, 6 * max(group, beside) + place) for place in range(2)]
    inside = {edge: 5 for edges in groups for edge in edges}
    levels = together([*inside, *ties], 216, hub_drop=0, weights=inside)
    assert [len(set(level)) for level in levels] == [36, 12]
    for finer, coarser in pairwise(levels):
        of = dict(zip(finer, coarser, strict=True))
        assert [of[community] for community in finer] == coarser


async def test_another_process_gives_the_same_whatever_the_run() -> None:
    random = Random(5)
    pairs = sorted({tuple(sorted(random.sample(range(300), 2))) for _ in range(900)})
    first, second = np.array(pairs).T
    weight = np.array([random.randrange(1, 9) for _ in pairs])
    tuning = CommunityTuning(0.01, 0.25)
    runs = await asyncio.gather(*(computed(first, second, weight, 300, tuning) for _ in range(2)))
    assert np.array_equal(runs[0][0], runs[1][0])
    here = partition(Pairs(first, second, weight), 300, hub_drop=0.01, giant_share=0.25)
    assert np.array_equal(runs[0][0], np.array(here.levels))
    empty = np.empty(0, np.int64)
    nothing, dropped = await computed(empty, empty, empty, 0, tuning)
    assert (nothing.size, dropped) == (0, 0)


async def test_nothing_of_the_folder_where_the_server_was_started_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("engram", "numpy", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('of the folder')\n")
    monkeypatch.chdir(tmp_path)
    empty = np.empty(0, np.int64)
    nothing, dropped = await computed(empty, empty, empty, 0, CommunityTuning(0.01, 0.25))
    assert (nothing.size, dropped) == (0, 0)


async def test_who_gives_up_leaves_no_process_behind() -> None:
    one = np.zeros(1, np.int64)
    work = asyncio.create_task(computed(one, one + 1, one + 1, 2, CommunityTuning(0.01, 0.25)))

    def computing() -> list[str]:
        """Threads that wait for a process, which they do to its end."""
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("communities")]

    async with asyncio.timeout(60):
        while not computing():  # noqa: ASYNC110  # a thread sets no event
            await asyncio.sleep(0.005)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert computing() == []


@pytest.fixture
async def services(make_settings: Callable[..., Settings], database_url: str) -> AsyncIterator[Services]:
    settings = make_settings(database_url)
    async with opened(settings, HashEmbedder(8, threshold=0.9999)) as services:
        yield services


async def told(space: Space, *, times: int = 2) -> None:
    """Memories that name the entities of each topic together, and one that names one of two topics."""
    for topic in TOPICS:
        for time in range(times):
            await space.remember(f"{space.agent_id} {time} of {topic[0]}", entities=list(topic))
    await space.remember("billing and search", entities=[TOPICS[0][0], TOPICS[1][0]])


async def communities(space: Space) -> dict[str, str]:
    """To the names of entities those of their communities, at the finest level."""
    async with space.services.database.snapshot() as connection:
        rows = await driver(connection).fetch(
            "SELECT e.name, s.name AS community FROM entity_communities c"
            " JOIN entities e ON e.id = c.entity_id AND e.agent_id = $1"
            " JOIN entities s ON s.id = c.community_id AND s.agent_id = $1"
            " WHERE c.agent_id = $1 AND c.level = 0",
            UUID(space.agent_id),
        )
    return {row["name"]: row["community"] for row in rows}


async def test_a_job_computes_them_and_walks_show_them(services: Services) -> None:
    space, other = await new_space(services), await new_space(services)
    await told(space)
    await told(other)
    async with working(services):
        job = await services.jobs.find_communities(DEFAULT_SCOPE, space.agent_id)
        ended = await until(services, job.id, JobStatus.done, JobStatus.dead)
    assert (ended.status, ended.done, ended.total) == (JobStatus.done, 12, 12)
    found = await communities(space)
    assert found == {name: found[topic[0]] for topic in TOPICS for name in topic}
    assert len(set(found.values())) == 3
    assert found["billing service"] == "billing service"
    assert await communities(other) == {}
    request = TraverseRequest(agent_id=space.agent_id, seed_entity="Ledger Worker", max_hops=2, hub_share=0)
    walk = await services.entity_graph.traverse(DEFAULT_SCOPE, request)
    assert {node.name: node.community_id for node in walk.nodes} == {
        name: community for name, community in found.items() if name in {node.name for node in walk.nodes}
    }
    assert {found["billing service"], found["search index"]} <= {node.community_id for node in walk.nodes}
    elsewhere = await services.entity_graph.traverse(
        DEFAULT_SCOPE, request.model_copy(update={"agent_id": other.agent_id})
    )
    assert {node.community_id for node in elsewhere.nodes} == {None}
    tenants = TenantDatabase(services.database)
    async with tenants.snapshot(DEFAULT_SCOPE) as connection:
        shown = await services.communities.largest(
            connection, DEFAULT_SCOPE, UUID(space.agent_id), level=0, limit=2, members=3
        )
    assert (shown.levels, shown.level, [community.entities for community in shown.data]) == (1, 0, [4, 4])
    assert [community.id for community in shown.data] == sorted(set(found.values()))[:2], "of equals the first by name"
    assert len(shown.data[0].members) == 3
    taxonomy = await services.taxonomy.taxonomy(DEFAULT_SCOPE, space.agent_id, limit=1)
    assert [community.id for community in taxonomy.communities.data] == sorted(set(found.values()))
    assert (await services.taxonomy.taxonomy(DEFAULT_SCOPE, other.agent_id, limit=1)).communities.data == []


async def test_computed_again_they_follow_the_memories(services: Services) -> None:
    space = await new_space(services)
    await told(space)
    await services.communities.compute(DEFAULT_SCOPE, UUID(space.agent_id))
    before = await communities(space)
    await services.communities.compute(DEFAULT_SCOPE, UUID(space.agent_id))
    assert await communities(space) == before
    merge = MergeCreate(agent_id=space.agent_id, name="search index", other="billing service")
    await services.facts.merges.merge(DEFAULT_SCOPE, merge)
    await services.communities.compute(DEFAULT_SCOPE, UUID(space.agent_id))
    merged = await communities(space)
    assert merged["billing service"] == merged["search index"]
    assert merged.keys() == before.keys()
    await services.agents.delete(DEFAULT_SCOPE, space.agent_id)
    async with services.database.snapshot() as connection:
        for table in ("entity_communities", "entity_community_runs"):
            assert await driver(connection).fetchval(f"SELECT count(*) FROM {table}") == 0


async def test_graph_mode_goes_on_to_what_belongs_together(services: Services) -> None:
    space = await new_space(services)
    names = ["motor", "gearbox", "clutch", "axle", "bearing"]
    ids = [(await space.remember(f"Note {at}.", entities=list(pair))).id for at, pair in enumerate(pairwise(names))]
    # What occurs with most is left out, and that is none of these.
    apart = await space.remember("Another note.", entities=["violin", *(f"string {at}" for at in range(6))])
    asked: dict[str, Any] = {"query": "the motor", "search_mode": "graph", "max_hops": 0, "top_k": 50}
    near = await space.hits(**asked)
    assert near.keys() == set(ids[:2])
    await services.communities.compute(DEFAULT_SCOPE, UUID(space.agent_id))
    assert len({(await communities(space)).get(name) for name in names}) == 1
    found = await space.hits(**asked)
    assert found.keys() == set(ids)
    assert apart.id not in found
    # Those that occur with the motor stay ahead.
    assert {id: found[id].graph_score for id in near} == {id: hit.graph_score for id, hit in near.items()}
    assert max(found[id].graph_score for id in ids[2:]) < min(hit.graph_score for hit in near.values())


async def test_by_the_clock_agents_are_computed_that_have_changed(services: Services) -> None:
    space, quiet, bare = await new_space(services), await new_space(services), await new_space(services)
    await told(space)
    await told(quiet)
    await bare.remember("nothing is named here")
    changed = ChangedAgents(services.database, TenantDatabase(services.database), services.agents)
    assert await changed.ask() == 2
    assert await changed.ask() == 0, "they are at it"
    async with services.database.transaction() as connection:
        await driver(connection).execute("UPDATE jobs SET status = 'done', finished_at = now()")
    for each in (space, quiet):
        await services.communities.compute(DEFAULT_SCOPE, UUID(each.agent_id))
    async with services.database.transaction() as connection:
        await driver(connection).execute("UPDATE entity_community_runs SET computed_at = now() + interval '2 minutes'")
    assert await changed.ask() == 0
    async with services.database.transaction() as connection:
        await driver(connection).execute(
            "UPDATE memories SET updated_at = now() + interval '3 minutes' WHERE agent_id = $1", UUID(space.agent_id)
        )
    assert await changed.ask() == 1


async def test_a_server_that_is_not_set_to_compute_any_says_so(
    services: Services, make_settings: Callable[..., Settings]
) -> None:
    space = await new_space(services)
    plain = Settings.model_fields["entity_communities"].default
    off = services.settings.model_copy(update={"entity_communities": plain})
    silent = await assemble(off, services.database, services.embedder)
    with pytest.raises(ConflictProblem, match="ENGRAM_ENTITY_COMMUNITIES"):
        await silent.jobs.find_communities(DEFAULT_SCOPE, space.agent_id)
