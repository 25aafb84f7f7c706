"""What is written is what is read, to the letter."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as rules
from hypothesis import strategies as st
from pydantic import ValidationError

from engram.agents.schemas import AgentCreate
from engram.memories.criteria import PastCriteria
from engram.memories.schemas import MemoryBatch, MemoryCreate, MemoryItem, MemoryStatus
from engram.problems import InvalidInputProblem, NotFoundProblem
from engram.services import Services
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space

AGENT = "01890a5d-ac96-774b-bcce-b302099a8057"

ODD = [
    "👨\u200d👩\u200d👧\u200d👦 family",
    "e\u0301 and \u00e9",
    "\u202eright to left\u202c",
    "שָׁלוֹם עולם مرحبا",
    "zero\u200bwidth\ufeff",
    "line\nbreaks\r\nand\ttabs ",
    "  leading and trailing  ",
    "\x01\x1b[31mcontrol\x7f",
    "\U0010ffff\ue000",
    "外币汇率换算工具",
    "ภาษาไทย",
    "quotes ' \" ` \\ %s {0} $1 ; --",
    "x" * 100_000,
    "ﬁ ½ ² Å",
    "\U0001fae9",  # an emoji younger than some Pythons
]

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=200)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e15, 1e15) | storable,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(storable, inner, max_size=3),
    max_leaves=8,
)
lenient = rules(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.parametrize("text", ODD)
async def test_odd_text_comes_back_byte_for_byte(space: Space, text: str) -> None:
    written = await space.remember(text)
    assert written.content.encode() == text.encode()
    assert (await space.get(written.id)).content.encode() == text.encode()
    assert [found.encode() for found in await space.texts(text[:1000])] == [text.encode()]


@given(text=storable, metadata=st.dictionaries(storable, values, max_size=4))
@lenient
async def test_any_text_and_metadata_come_back_as_they_were(
    shared_services: Services, text: str, metadata: dict[str, Any]
) -> None:
    try:
        item = MemoryItem(content=text, metadata=metadata)
    except ValidationError:
        return  # a text that shows nothing
    space = await new_space(shared_services)
    written = await space.remember(item.content, metadata=item.metadata)
    read = await space.get(written.id)
    assert read.content == text
    assert read.metadata == metadata
    assert list((await space.hits("anything"))[written.id].metadata.items()) == list(read.metadata.items())


async def test_every_field_comes_back(space: Space) -> None:
    began = datetime(2025, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
    fields: dict[str, Any] = {
        "user_id": "ada",
        "session_id": "s 1",
        "tags": ["b", "a"],
        "metadata": {"k": None, "deep": [{"a": [1, 2.5, "x", False]}]},
        "source": "chat",
        "confidence": 0.25,
        "valid_from": began,
        "valid_until": began + timedelta(days=3650),
        "sensitivity": "high",
    }
    written = await space.remember("everything", entities=["Quill", {"name": "Zyra", "role": "subject"}], **fields)
    read = await space.get(written.id)
    assert {name: read[name] for name in fields} == fields
    assert [(entity.name, entity.role.value) for entity in read.entities] == [("Zyra", "subject"), ("Quill", "mention")]
    assert (read.status.value, read.key, read.superseded_by, read.agent_id) == ("current", None, None, space.agent_id)
    hit = (await space.hits("everything"))[written.id]
    shared = set(type(read).model_fields) - {"entities", "relations", "quantities", "sensitivity"}
    assert {name: hit[name] for name in shared} == {name: read[name] for name in shared}


async def test_defaults_are_now_and_certain(space: Space) -> None:
    before = datetime.now(UTC)
    written = await space.remember("plain")
    after = datetime.now(UTC)
    assert before <= written.valid_from <= after
    assert before <= written.recorded_at <= after
    assert written.recorded_at == written.updated_at
    assert (written.confidence, written.tags, written.metadata, written.valid_until) == (1.0, [], {}, None)
    assert UUID(written.id).version == 7


async def test_tags_said_twice_are_kept_once(space: Space) -> None:
    assert (await space.remember("tagged", tags=["b", "a", "b"])).tags == ["b", "a"]


async def test_times_are_utc_whatever_zone_they_came_in(space: Space) -> None:
    east = timezone(timedelta(hours=9))
    written = await space.remember("noon in Tokyo", valid_from=datetime(2025, 5, 1, 12, tzinfo=east))
    naive = await space.remember("naive", valid_from="2025-05-01T03:00:00")
    assert written.valid_from == naive.valid_from == datetime(2025, 5, 1, 3, tzinfo=UTC)


async def test_two_megabytes_of_text_are_stored_found_and_returned_once(space: Space) -> None:
    text = ("zebra quagga okapi " * 106_000)[:1_999_990] + " aardwolf"
    written = await space.remember(text)
    assert written.chunks > 1
    assert (await space.get(written.id)).content == text
    assert list(await space.hits("aardwolf")) == [written.id]


async def test_a_text_of_sixty_thousand_different_words_is_found_by_each(space: Space) -> None:
    written = await space.remember(" ".join(f"word{number}" for number in range(60_000)))
    await space.remember_all(["something else", "and another"])
    for query in ("word0", "word31415", "word59999"):
        assert next(iter(await space.hits(query))) == written.id


async def test_a_long_query_is_answered(space: Space) -> None:
    written = await space.remember("zebra crossing")
    query = " ".join(f"w{number}" for number in range(2000))[:9_990] + " zebra"
    assert written.id in await space.hits(query)


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": " \n\t"},
        {"content": "\u200b\u200d"},
        {"content": "a\x00b"},
        {"content": "a\ud800b"},
        {"content": "x" * 2_000_001},
        {"metadata": {"k": "a\x00b"}},
        {"metadata": {"a\x00b": 1}},
        {"metadata": {"k": ["\udfff"]}},
        {"metadata": {"k": math.nan}},
        {"metadata": {"k": [math.inf]}},
        {"metadata": "text"},
        {"tags": ["a\x00b"]},
        {"tags": [""]},
        {"tags": "abc"},
        {"user_id": ""},
        {"user_id": "  "},
        {"session_id": "a\x01b"},
        {"source": "\x00"},
        {"confidence": 1.1},
        {"confidence": math.nan},
        {"valid_from": "yesterday"},
        {"valid_from": 1_700_000_000_000},
        {"valid_from": "2025-05-02", "valid_until": "2025-05-02"},
        {"entities": ["a\x00b"]},
        {"entities": [" "]},
        {"entities": [{"name": "Zyra", "role": "hero"}]},
        {"embedding": []},
        {"embedding": [math.nan]},
        {"embedding": [math.inf]},
        {"unknown": 1},
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(wrong: dict[str, Any]) -> None:
    (name,) = list(wrong)[-1:]
    with pytest.raises(ValidationError, match=name if name != "valid_until" else "valid_until|later"):
        MemoryCreate(**{"agent_id": AGENT, "content": "fine", **wrong})


def test_a_batch_is_neither_empty_nor_endless() -> None:
    for number in (0, 1001):
        with pytest.raises(ValidationError, match="items"):
            MemoryBatch(agent_id=AGENT, items=[MemoryItem(content=str(place)) for place in range(number)])


async def test_what_ended_before_it_began_is_refused(space: Space) -> None:
    with pytest.raises(InvalidInputProblem, match="valid_until"):
        await space.remember("over", valid_until=datetime.now(UTC) - timedelta(hours=1))
    with pytest.raises(InvalidInputProblem, match=r"items\.1\.valid_until"):
        await space.remember_all(["fine", {"content": "over", "valid_until": "2020-01-01"}])
    assert (await space.stats()).memories == 0


async def test_agents_created_at_once_under_one_name_are_one(shared_services: Services) -> None:
    request = AgentCreate(name=f"sought after {uuid4()}", metadata={"k": 1})
    answers = await asyncio.gather(*(shared_services.agents.create(DEFAULT_SCOPE, request) for _ in range(20)))
    assert len({agent.id for agent, _ in answers}) == 1
    assert sum(created for _, created in answers) == 1


async def test_an_unknown_agent_is_not_found_and_not_made(shared_services: Services) -> None:
    nowhere = Space(shared_services, AGENT)
    for attempt in (nowhere.remember("x"), nowhere.remember_all(["x"]), nowhere.ask("x"), nowhere.stats()):
        with pytest.raises(NotFoundProblem, match=AGENT):
            await attempt
    with pytest.raises(NotFoundProblem):
        await shared_services.agents.get(DEFAULT_SCOPE, AGENT)


async def test_a_deleted_memory_is_gone_for_all(space: Space) -> None:
    kept, gone = ids(await space.remember_all(["kept", "gone"]))
    await space.forget(gone)
    for attempt in (space.get(gone), space.forget(gone), space.edges(gone)):
        with pytest.raises(NotFoundProblem, match=gone):
            await attempt
    assert list(await space.hits("gone")) == [kept]
    assert (await space.stats()).memories == 1
    assert await listed(space) == ["kept"]
    assert await listed(space, status="deleted") == ["gone"]


async def listed(space: Space, *, page: int = 50, **filters: Any) -> list[str]:
    """Contents of a whole list, page by page, with a check of its total."""
    status = filters.pop("status", None)
    found: list[str] = []
    cursor = None
    while True:
        answer = await space.services.memories.list(
            DEFAULT_SCOPE,
            space.agent_id,
            PastCriteria(**filters),
            status=status and MemoryStatus(status),
            limit=page,
            cursor=cursor,
            include_total=True,
        )
        found += [memory.content for memory in answer.data]
        cursor = answer.next_cursor
        if cursor is None:
            assert answer.total == len(found)
            return found


@pytest.mark.parametrize("page", [1, 3, 7, 50])
async def test_a_list_has_everything_once_the_latest_first(space: Space, page: int) -> None:
    texts = [f"memory {number}" for number in range(12)]
    await space.remember_all(texts[:10])
    for text in texts[10:]:
        await space.remember(text)
    assert await listed(space, page=page) == texts[::-1]


async def test_a_list_shows_only_what_is_asked_for(space: Space) -> None:
    await space.remember("1", user_id="ada", session_id="s", tags=["a", "b"])
    await space.remember("2", user_id="ada", session_id="t", tags=["a"])
    await space.remember("3", user_id="bob", session_id="s")
    assert await listed(space, user_id="ada") == ["2", "1"]
    assert await listed(space, session_id="s") == ["3", "1"]
    assert await listed(space, user_id="ada", session_id="s") == ["1"]
    assert await listed(space, tags=["a"]) == ["2", "1"]
    assert await listed(space, tags={"all": ["a", "b"]}) == ["1"]
    assert await listed(space, status="superseded") == []


async def test_deleting_an_agent_leaves_others_as_they_were(shared_services: Services, space: Space) -> None:
    other = await new_space(shared_services)
    for one in (space, other):
        await one.remember_all(
            [{"content": f"Zyra {number}", "session_id": "s", "entities": ["Zyra"]} for number in range(3)]
        )
    before = [await other.hits("Zyra"), await other.stats()]
    await shared_services.agents.delete(DEFAULT_SCOPE, space.agent_id)
    assert [await other.hits("Zyra"), await other.stats()] == before
    with pytest.raises(NotFoundProblem):
        await space.ask("Zyra")
