"""Filters hold on every memory that leaves the server, whichever way it was found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from engram.problems import NotFoundProblem
from engram.recall.schemas import RecallRequest
from engram.tenants.scope import Scope
from tests.fixtures.spaces import Space, ids, new_space

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)
AGENT = "01890a5d-ac96-774b-bcce-b302099a8057"

STOCK: dict[str, dict[str, Any]] = {
    "apple": {"kind": "fruit", "price": 3, "labels": ["red", "fresh"], "note": "100% organic", "gone": None},
    "bread": {"kind": "grain", "price": 5.5, "labels": [], "note": "1000 organic"},
    "chair": {"kind": "wood", "price": "3", "labels": "red", "deep": {"a": 1}},
    "daisy": {"kind": None, "price": True, "note": "a_b"},
    "easel": {},
}


async def stocked(space: Space) -> None:
    await space.remember_all({"content": name, "metadata": metadata} for name, metadata in STOCK.items())


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"kind": "fruit"}, "apple"),
        ({"kind": {"eq": "fruit"}}, "apple"),
        ({"kind": None}, "daisy"),
        ({"gone": None}, "apple"),
        ({"kind": {"ne": "fruit"}}, "bread chair daisy easel"),
        ({"kind": {"in": ["fruit", "wood"]}}, "apple chair"),
        ({"kind": {"in": [None]}}, "daisy"),
        ({"kind": {"in": []}}, ""),
        ({"price": 3}, "apple"),
        ({"price": 3.0}, "apple"),
        ({"price": "3"}, "chair"),
        ({"price": True}, "daisy"),
        ({"price": {"gt": 3}}, "bread"),
        ({"price": {"gte": 3}}, "apple bread"),
        ({"price": {"gte": 3, "lt": 5.5}}, "apple"),
        ({"price": {"lt": 5.5, "gte": 3}}, "apple"),
        ({"price": {"gt": 3, "lt": 3}}, ""),
        ({"price": {"lte": "3"}}, "chair"),
        ({"kind": {"gte": "g", "lt": "h"}}, "bread"),
        ({"price": {"ne": 3, "exists": True}}, "bread chair daisy"),
        ({"note": {"exists": False}}, "chair easel"),
        ({"gone": {"exists": True}}, "apple"),
        ({"labels": ["red", "fresh"]}, "apple"),
        ({"labels": ["fresh", "red"]}, ""),
        ({"labels": {"contains": "red"}}, "apple chair"),
        ({"labels": {"contains": "re"}}, "chair"),
        ({"note": {"contains": "100%"}}, "apple"),
        ({"note": {"contains": "a_b"}}, "daisy"),
        ({"note": {"contains": "a%b"}}, ""),
        ({"note": {"contains": "_"}}, "daisy"),
        ({"note": {"contains": "\\"}}, ""),
        ({"deep": {"eq": {"a": 1}}}, "chair"),
        ({"kind": "fruit", "price": {"gt": 100}}, ""),
        ({"x'; drop table memories--": "y"}, ""),
        ({"kind": "x' or '1'='1"}, ""),
        ({"$1": {"exists": True}}, ""),
        ({}, "apple bread chair daisy easel"),
    ],
)
async def test_metadata_conditions_mean_what_they_say(space: Space, condition: dict[str, Any], expected: str) -> None:
    await stocked(space)
    assert sorted(await space.texts(metadata=condition)) == expected.split()
    assert len(await space.texts()) == len(STOCK)


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ({"tag": {"in": "abc"}}, "tag"),
        ({"tag": {"in": {"a": 1}}}, "tag"),
        ({"tag": {}}, "tag"),
        ({"tag": {"like": "x"}}, "like"),
        ({"tag": {"gt": None}}, "tag"),
        ({"tag": {"gt": True}}, "tag"),
        ({"tag": {"gt": [1]}}, "tag"),
        ({"tag": {"exists": "yes"}}, "tag"),
        ({"tag": {"contains": ["a"]}}, "tag"),
        ({"tag": "a\x00b"}, "NUL"),
        ({"a\x00b": 1}, "NUL"),
        ({"tag": float("nan")}, "NaN"),
        ({str(number): 1 for number in range(33)}, "metadata"),
    ],
)
def test_a_condition_without_a_meaning_is_refused_by_name(condition: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        RecallRequest(agent_id=AGENT, query="?", metadata=condition)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["a"], "ab a"),
        (["a", "c"], "ab a c"),
        ({"any": ["a", "b"]}, "ab a b"),
        ({"all": ["a", "b"]}, "ab"),
        ({"any": ["a"], "all": ["b"]}, "ab"),
        ({"any": ["a%", "_"]}, ""),
        ({"any": ["A"]}, ""),
        ([], ""),
        ({"any": []}, ""),
        ({"any": [], "all": ["a"]}, ""),
        ({"exact": ["a"]}, "a"),
        ({"exact": ["b", "a", "a"]}, "ab"),
        ({"exact": []}, "none"),
        ({"exact": ["a"], "any": ["b"]}, ""),
        ({}, "ab a b c none"),
    ],
)
async def test_tags_ask_for_any_for_all_or_for_no_other(space: Space, tags: Any, expected: str) -> None:
    for name, given in {"ab": ["a", "b"], "a": ["a"], "b": ["b"], "c": ["c"], "none": []}.items():
        await space.remember(name, tags=given)
    assert sorted(await space.texts(tags=tags)) == sorted(expected.split())


@pytest.mark.parametrize(
    "tags", ["a", '["a"]', {"any": "a"}, {"nobody": ["a"]}, {"none": "a"}, {"exact": "a"}, [""], [" "]]
)
def test_tags_that_are_no_list_are_refused(tags: Any) -> None:
    with pytest.raises(ValidationError, match="tags"):
        RecallRequest(agent_id=AGENT, query="?", tags=tags)


async def test_users_and_sessions_are_apart(space: Space) -> None:
    for user in ("ada", "bob", None):
        for session in ("1", "2", None):
            await space.remember(f"{user} {session}", user_id=user, session_id=session)
    assert sorted(await space.texts(user_id="ada")) == ["ada 1", "ada 2", "ada None"]
    assert sorted(await space.texts(session_id="1")) == ["None 1", "ada 1", "bob 1"]
    assert await space.texts(user_id="bob", session_id="2") == ["bob 2"]
    assert await space.texts(user_id="eve") == []


@pytest.mark.parametrize("field", ["user_id", "session_id"])
@pytest.mark.parametrize("blank", ["", "  ", "\u200b"])
def test_a_blank_scope_is_refused_and_never_means_all(field: str, blank: str) -> None:
    with pytest.raises(ValidationError, match=field):
        RecallRequest(agent_id=AGENT, query="?", **{field: blank})


async def test_metadata_that_looks_like_a_scope_changes_none(space: Space) -> None:
    await space.remember("mine", user_id="ada", metadata={"user_id": "bob", "agent_id": AGENT, "status": "deleted"})
    assert await space.texts(user_id="bob") == []
    assert await space.texts(user_id="ada") == ["mine"]
    assert await space.texts(user_id="ada", metadata={"user_id": "bob"}) == ["mine"]
    assert await space.texts(user_id="eve", metadata={"user_id": "bob"}) == []


async def test_what_holds_is_half_open(space: Space) -> None:
    await space.remember("meeting", valid_from=NOON, valid_until=NOON + HOUR)

    async def holds(as_of: datetime) -> bool:
        return await space.texts(as_of=as_of) == ["meeting"]

    assert not await holds(NOON - INSTANT)
    assert await holds(NOON)
    assert await holds(NOON + HOUR - INSTANT)
    assert not await holds(NOON + HOUR)
    assert await space.texts() == []


async def test_the_window_of_beginnings_is_half_open(space: Space) -> None:
    for minute in range(5):
        await space.remember(f"{minute}", valid_from=NOON + minute * timedelta(minutes=1))

    async def between(start: int | None, end: int | None) -> str:
        moments = [None if minute is None else NOON + minute * timedelta(minutes=1) for minute in (start, end)]
        return "".join(sorted(await space.texts(valid_from=moments[0], valid_until=moments[1])))

    assert await between(1, 3) == "12"
    assert await between(1, None) == "1234"
    assert await between(None, 3) == "012"


async def test_a_window_finds_its_few_among_many(space: Space) -> None:
    await space.remember_all(
        {"content": f"much alike {number}", "embedding": space.vector(1), "valid_from": NOON + number * HOUR}
        for number in range(400)
    )
    # Begun last, and least like the query.
    few = [
        {"content": f"few {number}", "embedding": space.vector(0.1, 1), "valid_from": NOON + (500 + number) * HOUR}
        for number in range(3)
    ]
    await space.remember_all(few)
    found = await space.texts(embedding=space.vector(1), valid_from=NOON + 450 * HOUR, top_k=5)
    assert sorted(found) == ["few 0", "few 1", "few 2"]


CHAIN = {
    "user": ({"user_id": "ada"}, {"user_id": "bob"}, {"user_id": "ada"}),
    "session": ({"session_id": "s"}, {"session_id": "t"}, {"session_id": "s"}),
    "any tag": ({"tags": ["a", "b"]}, {"tags": ["c"]}, {"tags": ["b"]}),
    "all tags": ({"tags": ["a", "b"]}, {"tags": ["a"]}, {"tags": {"all": ["a", "b"]}}),
    "exact tags": ({"tags": ["a"]}, {"tags": ["a", "b"]}, {"tags": {"exact": ["a"]}}),
    "metadata": ({"metadata": {"k": 1}}, {"metadata": {}}, {"metadata": {"k": 1}}),
    "window": ({"valid_from": NOON}, {"valid_from": NOON - HOUR}, {"valid_from": NOON}),
    "later window": ({"valid_from": NOON}, {"valid_from": NOON + HOUR}, {"valid_until": NOON + HOUR}),
    "time": ({"valid_from": NOON}, {"valid_from": NOON + HOUR}, {"as_of": NOON}),
    "end": ({"valid_from": NOON}, {"valid_from": NOON - HOUR, "valid_until": NOON}, {"as_of": NOON}),
}


@pytest.mark.parametrize("link", ["causal", "entity_link"])
@pytest.mark.parametrize("kind", CHAIN)
async def test_a_hidden_memory_is_neither_shown_nor_walked_through(space: Space, kind: str, link: str) -> None:
    visible, hidden, asked = CHAIN[kind]
    start, between, end = ids(
        await space.remember_all(
            {"content": f"place {place}", "embedding": space.vector(*[0] * place, 1), "entities": names, **given}
            for place, (names, given) in enumerate(
                [(["Zyra"], visible), (["Zyra", "Quill"], hidden), (["Quill"], visible)]
            )
        )
    )
    await space.link(start, between, "causal")
    await space.link(between, end, "causal")
    reached = {"embedding": space.vector(1), "lexical": False, "relation_types": [link]}
    hits = await space.hits(**reached, **asked)
    assert set(hits) == {start, end}
    assert hits[end].graph_score == 0
    # With nothing hidden the chain holds.
    await space.forget(between)
    again = (await space.remember("place 1", entities=["Zyra", "Quill"], embedding=space.vector(0, 1), **visible)).id
    await space.link(start, again, "causal")
    await space.link(again, end, "causal")
    assert (await space.hits(**reached, **asked))[end].graph_score > 0


async def test_a_hidden_turn_still_stands_between_its_neighbours(space: Space) -> None:
    start, _, end = ids(
        await space.remember_all(
            {"content": text, "session_id": "s", "tags": tags, "embedding": space.vector(*[0] * place, 1)}
            for place, (text, tags) in enumerate([("start", ["t"]), ("between", []), ("end", ["t"])])
        )
    )
    hits = await space.hits(embedding=space.vector(1), lexical=False, tags=["t"])
    assert set(hits) == {start, end}
    assert hits[end].graph_score == 0
    assert (await space.hits(embedding=space.vector(1), lexical=False))[end].graph_score > 0


async def test_a_recall_may_walk_only_some_relations(space: Space) -> None:
    start, caused, alike = ids(
        await space.remember_all(
            {"content": f"place {place}", "embedding": space.vector(*[0] * place, 1)} for place in range(3)
        )
    )
    await space.link(start, caused, "causal")
    await space.link(start, alike, "supports")

    async def walked(*relations: str) -> set[str]:
        hits = await space.hits(embedding=space.vector(1), lexical=False, relation_types=list(relations))
        return {id for id, hit in hits.items() if hit.graph_score > 0}

    assert await walked("causal") == {caused}
    assert await walked("causal", "supports") == {caused, alike}
    assert await walked("temporal") == set()
    assert await walked() == set()


async def test_deleted_memories_leave_recall_at_once(space: Space) -> None:
    start, gone, end = ids(
        await space.remember_all(
            {"content": f"zebra {place}", "embedding": space.vector(*[0] * place, 1)} for place in range(3)
        )
    )
    await space.link(start, gone, "causal")
    await space.link(gone, end, "causal")
    await space.forget(gone)
    hits = await space.hits("zebra", embedding=space.vector(1))
    assert set(hits) == {start, end}
    assert all(step.memory_id != gone for hit in hits.values() for step in hit.path)
    assert set(await space.hits("zebra", as_of=datetime.now(UTC))) == {start, end}


async def test_no_agent_sees_into_another(space: Space) -> None:
    other = await new_space(space.services)
    for one in (space, other):
        await one.remember(f"Zyra of {one.agent_id}", session_id="s", entities=["Zyra"], tags=["t"])
    for one in (space, other):
        for asked in ({}, {"session_id": "s"}, {"tags": ["t"]}, {"metadata": {}}, {"graph_weight": 1.0}):
            assert await one.texts("Zyra", **asked) == [f"Zyra of {one.agent_id}"]


async def test_another_tenants_agent_is_not_found(space: Space) -> None:
    await space.remember("secret")
    request = RecallRequest(agent_id=space.agent_id, query="secret")
    with pytest.raises(NotFoundProblem):
        await space.services.recall.recall(Scope(uuid4()), request)


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_k": 0},
        {"top_k": -1},
        {"top_k": 201},
        {"top_k": 10**9},
        {"graph_weight": -0.01},
        {"graph_weight": 1.01},
        {"graph_weight": float("nan")},
        {"max_hops": -1},
        {"max_hops": 6},
        {"hop_penalty": -0.1},
        {"hop_penalty": 1.0},
        {"min_score": 1.1},
        {"relation_types": ["likes"]},
        {"query": ""},
        {"query": "   "},
        {"query": "\u200b\u200d"},
        {"query": "a\x00b"},
        {"query": "\ud800"},
        {"query": "word " * 60_000},
        {"as_of": "yesterday"},
        {"as_of": "March 2026"},
        {"as_of": 1_700_000_000},
        {"as_of": "2024-13-01"},
        {"valid_from": NOON, "valid_until": NOON},
        {"valid_from": NOON, "valid_until": NOON - HOUR},
        {"embedding": []},
        {"embedding": [float("nan")]},
        {"embedding": [float("inf")]},
        {"agent_id": "everything"},
        {"agent_id": None},
        {"unknown_filter": 1},
    ],
)
def test_a_request_out_of_range_is_refused_by_name(wrong: dict[str, Any]) -> None:
    (name,) = list(wrong)[-1:]
    with pytest.raises(ValidationError, match=name):
        RecallRequest(**{"agent_id": AGENT, "query": "?", **wrong})


def test_a_request_needs_an_agent_and_a_query() -> None:
    for given in ({"agent_id": AGENT}, {"query": "?"}):
        with pytest.raises(ValidationError, match="Field required"):
            RecallRequest(**given)


def test_a_naive_time_is_utc() -> None:
    request = RecallRequest(agent_id=AGENT, query="?", as_of="2024-01-05T00:00:00")
    assert request.as_of == RecallRequest(agent_id=AGENT, query="?", as_of="2024-01-05T00:00:00Z").as_of
