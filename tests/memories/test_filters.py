"""A filter means one thing, whoever asks: lists, counts, recalls and deletions agree with a plain reading of it."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram import AsyncEngram
from engram.memories.criteria import PastCriteria
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, new_space
from tests.memories.oracle import Note, has_tags, meets

# Few names and few values, so that they meet; of every kind, and such as another kind could be taken for.
TEXTS = ["", "a", "ab", "B", "3", "10", "true", "null", "100%", "a_b", "a%b", "\\", "é", "e\u0301", "𝒳", "\uffff", "[]"]
DATES = ["2026-05-01", "2026-05-01T12:00:00Z", "2026-10-01"]
NUMBERS = [0, -0.0, 1, 1.0, 3, 2.5, -1, 10, 0.1, 1e22, 2**53, 2**53 + 1, 5e-324]
NAMES = ["a", "b", "a.b", "a.b.c", "", ".", "a'; drop table memories--", "0", "ü", "$1"]
TAGS = ["a", "b", "c", "A", "%"]

scalars = st.sampled_from([*TEXTS, *DATES, *NUMBERS, True, False, None])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc0"), inner, max_size=2),
    max_leaves=4,
)
comparable = st.sampled_from([*TEXTS, *DATES, *NUMBERS])
conditions = st.one_of(
    st.tuples(st.sampled_from(["gt", "gte", "lt", "lte"]), comparable),
    st.tuples(st.sampled_from(["eq", "ne"]), values),
    st.tuples(st.just("in"), st.lists(values, max_size=3)),
    st.tuples(st.just("exists"), st.booleans()),
    st.tuples(st.just("contains"), scalars),
)
filters = st.dictionaries(
    st.sampled_from([*NAMES, "missing", "b.0", "a.", "..", "b.a.c"]),
    st.lists(conditions, min_size=1, max_size=2).map(dict) | scalars | st.lists(values, max_size=2),
    min_size=1,
    max_size=2,
)
notes = st.builds(
    lambda tags, metadata: (tags, metadata),
    st.lists(st.sampled_from(TAGS), max_size=3, unique=True),
    st.dictionaries(st.sampled_from(NAMES), values, max_size=4),
)
tag_lists = st.none() | st.lists(st.sampled_from(TAGS), max_size=2)
tag_filters = st.fixed_dictionaries(dict.fromkeys(("any", "all", "none", "exact"), tag_lists))

several = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


async def written(services: Services, drawn: list[tuple[list[str], dict[str, Any]]]) -> tuple[Space, list[Note]]:
    space = await new_space(services)
    found = [Note(f"note {at}", tags, metadata) for at, (tags, metadata) in enumerate(drawn)]
    vector = space.vector(1)
    await space.remember_all(
        {"content": note.name, "tags": note.tags, "metadata": note.metadata, "embedding": vector} for note in found
    )
    return space, found


async def listed(space: Space, **criteria: Any) -> tuple[list[str], int | None]:
    page = await space.services.memories.list(
        DEFAULT_SCOPE,
        space.agent_id,
        PastCriteria(**criteria),
        status=None,
        limit=200,
        cursor=None,
        include_total=True,
    )
    return [memory.content for memory in page.data], page.total


@several
@given(st.lists(notes, min_size=8, max_size=15), st.lists(filters, min_size=20, max_size=30))
async def test_conditions_on_metadata_mean_what_a_plain_reading_says(
    unlinked: Services, drawn: list[Any], asked: list[dict[str, Any]]
) -> None:
    space, known = await written(unlinked, drawn)
    for metadata in asked:
        expected = [note.name for note in reversed(known) if meets(note, metadata)]
        assert await listed(space, metadata=metadata) == (expected, len(expected)), metadata


@several
@given(st.lists(notes, min_size=5, max_size=15), st.lists(tag_filters, min_size=10, max_size=20))
async def test_conditions_on_tags_mean_what_a_plain_reading_says(
    unlinked: Services, drawn: list[Any], asked: list[dict[str, Any]]
) -> None:
    space, known = await written(unlinked, drawn)
    for tags in asked:
        expected = [note.name for note in reversed(known) if has_tags(note, **tags)]
        assert await listed(space, tags=tags) == (expected, len(expected)), tags


ADA = {"user_id": "ada"}
STOCK = [
    {
        "content": "apple",
        "tags": ["fruit", "red"],
        "metadata": {"price": 3, "from": {"farm": "north"}},
        "user_id": "ada",
    },
    {"content": "bread", "tags": ["grain"], "metadata": {"price": "3", "from.farm": "north"}, "source": "shop"},
    {"content": "chair", "metadata": {"price": None}, "session_id": "s", **ADA},
    {"content": "daisy", "tags": ["red"], "metadata": {"price": 9.5}, "valid_from": "2020-01-01"},
]

ASKED: list[tuple[dict[str, Any], str]] = [
    ({"tags": ["fruit", "grain"]}, "apple bread"),
    ({"tags": {"all": ["fruit", "red"]}}, "apple"),
    ({"tags": {"none": ["red"]}}, "bread chair"),
    ({"tags": {"exact": ["red"]}}, "daisy"),
    ({"tags": {"exact": []}}, "chair"),
    ({"tags": []}, ""),
    ({"tags": {"any": []}}, ""),
    ({"tags": {"all": []}}, "apple bread chair daisy"),
    ({"tags": {"none": []}}, "apple bread chair daisy"),
    ({"tags": {"any": ["red"], "none": ["fruit"]}}, "daisy"),
    ({"metadata": {"price": {"in": []}}}, ""),
    ({"metadata": {"price": {"gte": 3, "lt": 9}}}, "apple"),
    ({"metadata": {"price": None}}, "chair"),
    ({"metadata": {"from.farm": "north"}}, "apple bread"),
    ({"metadata": {"price": {"exists": True}}, "user_id": "ada"}, "apple chair"),
    ({"session_id": "s"}, "chair"),
    ({"source": "shop"}, "bread"),
    ({"valid_until": "2021-01-01"}, "daisy"),
    ({"updated_since": "2021-01-01"}, "apple bread chair daisy"),
    ({"updated_since": "2999-01-01"}, ""),
    ({"key": "k"}, ""),
    ({"key_prefix": "k"}, ""),
]


async def test_a_filter_means_the_same_to_a_list_a_recall_and_a_deletion(engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk")
    await engram.memories.create_many(agent.id, STOCK)
    for asked, expected in ASKED:
        page = await engram.memories.list(agent.id, include_total=True, **asked)
        assert sorted(memory.content for memory in page.data) == expected.split(), asked
        assert page.total == len(page.data), asked
        hits = await engram.memories.recall(agent.id, "anything", top_k=50, **asked)
        assert sorted(hit.content for hit in hits) == expected.split(), asked
        if asked not in ({"tags": {"all": []}}, {"tags": {"none": []}}):
            preview = await engram.memories.delete_many(agent.id, dry_run=True, **asked)
            assert sorted(preview.sample) == sorted(memory.id for memory in page.data), asked
            assert (preview.matched, preview.deleted) == (page.total, 0), asked


REFUSED: list[tuple[str, dict[str, Any]]] = [
    *[
        ("metadata", {"metadata": value})
        for value in ('{"tag": {"in": "abc"}}', '{"tag": {"near": 1}}', "{", "[1]", "1")
    ],
    *[("metadata", {"metadata": value}) for value in ("", '{"a": 1, "a": 2}', "[" * 9000, '{"a": NaN}', '{"a": {}}')],
    *[
        (name, {name: value})
        for name in ("user_id", "session_id", "key", "key_prefix", "source")
        for value in ("", "  ")
    ],
    *[(name, {name: " "}) for name in ("tag", "tag_any", "tag_none", "tag_exact")],
    ("tag", {"tag": ""}),
    *[
        (name, {name: value})
        for name in ("as_of", "known_at", "updated_since", "valid_from", "valid_until")
        for value in ("yesterday", "March 2026", "1770000000", "1770000000000", "")
    ],
    ("status", {"status": "gone"}),
    ("tags", {"tags": "a"}),
]


async def test_a_list_that_cannot_be_meant_is_refused_by_name(http: httpx.AsyncClient, engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk")
    for field, wrong in REFUSED:
        response = await http.get("/v1/memories", params={"agent_id": agent.id, **wrong})
        assert response.status_code == 422, wrong
        assert {error["field"].partition(".")[0] for error in response.json()["errors"]} == {field}, wrong
    window = {"valid_from": "2026-02-01", "valid_until": "2026-01-01"}
    response = await http.get("/v1/memories", params={"agent_id": agent.id, **window})
    assert (response.status_code, "valid_until" in response.json()["detail"]) == (422, True)


async def test_metadata_travel_in_a_query_as_they_are(http: httpx.AsyncClient, engram: AsyncEngram) -> None:
    agent = await engram.agents.create("clerk")
    texts = ("x'; drop table memories--", '"}]', "$1", "100%", "\\", "a.b", "{x}", "a&b=c +%20ü", "' OR 1=1 --")
    for text in texts:
        await engram.memories.create(agent.id, f"note {text}", metadata={text: text}, tags=[text], user_id=text)
    for text in texts:
        for narrowed in (
            {"metadata": {text: text}},
            {"metadata": {text: {"contains": text, "in": [text]}}},
            {"tags": [text]},
            {"user_id": text},
        ):
            page = await engram.memories.list(agent.id, **narrowed)
            assert [memory.content for memory in page.data] == [f"note {text}"], narrowed
    asked = {"agent_id": agent.id, "metadata": json.dumps({"a.b": {"exists": True}})}
    assert len((await http.get("/v1/memories", params=asked)).json()["data"]) == 1
