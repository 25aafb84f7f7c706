"""Names that one memory declares are recognised in all others, whenever those were written."""

from __future__ import annotations

import asyncio
import math
import random
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as rules
from hypothesis import strategies as st

from engram.db.database import driver
from engram.entities import projection
from engram.services import Services, open_services
from engram.settings import Settings
from tests.fixtures.spaces import Space, ids, new_space

RECOGNISED = ("mention", True)
DECLARED = ("mention", False)
SUBJECT = ("subject", False)


@pytest.fixture
async def space(
    shared_database_url: str, make_settings: Callable[..., Settings], static_weights: None
) -> AsyncIterator[Space]:
    """An agent of a server that takes for names what is declared, and nothing else."""
    async with open_services(make_settings(shared_database_url, entity_recognition="known")) as services:
        yield await new_space(services)


def declaring(*names: str | dict[str, str]) -> dict[str, Any]:
    return {"content": f"declares {random.random()}", "entities": list(names)}


async def recognised(space: Space, text: str, *names: str, declared_first: bool) -> set[str]:
    """Which of these names are found in a text that is written before or after they are declared."""
    if declared_first:
        await space.remember_all([declaring(name) for name in names])
    memory = await space.remember(text)
    if not declared_first:
        await space.remember_all([declaring(name) for name in names])
    return set(await space.entities(memory.id))


@pytest.mark.parametrize("declared_first", [True, False])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I met Zyra Kline today", "Zyra Kline"),
        ("zyra kline called", "Zyra Kline"),
        ("Zyra  Kline\ncalled", "Zyra Kline"),
        ("Zyra Kline's desk", "Zyra Kline"),
        ("ZYRA KLINE\u2019S desk", "Zyra Kline"),
        ("Ｚｙｒａ Kline", "Zyra Kline"),
        ("(Zyra Kline)", "Zyra Kline"),
        ("the billing services are down", "the Billing Service"),
        ("a data lake", "Data Lakes"),
        ("three companies merged", "company"),
        ("the mice escaped", "mouse"),
        ("all analyses agree", "analysis"),
        ("people of Kubernetes", "Kubernetes"),
        ("James went home", "James"),
        ("die Cafe\u0301s", "Café"),
        ("外币汇率换算工具", "汇率"),
        ("我住在北京市", "北京"),
        ("그는 한국어를 배운다", "한국어"),
        ("ฉันพูดภาษาไทยได้", "ภาษาไทย"),
        ("मुझे हिन्दी आती है", "हिन्दी"),
        ("привет, Марина!", "Марина"),
        ("the port of Los Angeles", "Los Angeles"),
        ("we saw error:Timeouts again", "error:Timeouts"),
        ("fixed in commit:9f3a2b", "commit:9f3a2b"),
        ("C++ is fast", "C++"),
        ("uses node.js here", "Node.js"),
        ("R&D is fun", "R&D"),
        ("O'Neill came", "O'Neill"),
    ],
)
async def test_a_name_is_found(space: Space, text: str, name: str, declared_first: bool) -> None:
    assert len(await recognised(space, text, name, declared_first=declared_first)) == 1


@pytest.mark.parametrize("declared_first", [True, False])
@pytest.mark.parametrize("language", ["none", "german", "russian"])
@pytest.mark.parametrize(
    ("text", "name"),
    [("Kubernetes runs", "Kubernetes"), ("James went home", "James"), ("two data lakes", "data lake")],
)
async def test_a_name_is_found_whatever_the_language(
    shared_services: Services, language: str, text: str, name: str, declared_first: bool
) -> None:
    space = await new_space(shared_services, language=language)
    assert await recognised(space, text, name, declared_first=declared_first) == {name}


@pytest.mark.parametrize("declared_first", [True, False])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a party of partisans", "art"),
        ("Zyra and Kline", "Zyra Kline"),
        ("Kline Zyra", "Zyra Kline"),
        ("Annabel came", "Ann"),
        ("汇款的利率", "汇率"),
        ("vitamin C helps", "C++"),
        ("a net of errors", "error:net"),
        ("R and D", "R&D"),
        ("tarea 6 is next", "Tarea 5"),
        ("he said he will", "will"),
        ("and then the next one", "then"),
    ],
)
async def test_what_is_not_the_name_is_not_found(space: Space, text: str, name: str, declared_first: bool) -> None:
    assert await recognised(space, text, name, declared_first=declared_first) == set()


@pytest.mark.parametrize("declared_first", [True, False])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("New York City is big", {"New York City"}),
        ("New York is a state", {"New York"}),
        ("from York to New York", {"York", "New York"}),
        ("New York and New York City", {"New York", "New York City"}),
        ("in New York Cities", {"New York City"}),
        ("我在北京大学", {"北京大学"}),
        ("我在北京 大学很多", {"北京"}),
        ("我在北京。大学很多", {"北京"}),
    ],
)
async def test_the_longest_name_is_found(space: Space, text: str, found: set[str], declared_first: bool) -> None:
    names = ["New York", "York", "New York City", "北京", "北京大学"]
    assert await recognised(space, text, *names, declared_first=declared_first) == found


async def test_a_longer_name_declared_later_takes_the_place_of_a_shorter(space: Space) -> None:
    await space.remember("first", entities=["New York"])
    memory = await space.remember("New York City is big")
    assert await space.entities(memory.id) == {"New York": RECOGNISED}
    await space.remember("second", entities=["New York City"])
    assert await space.entities(memory.id) == {"New York City": RECOGNISED}


async def test_names_are_found_inside_one_batch_in_either_order(space: Space) -> None:
    before, declares, after = ids(
        await space.remember_all(["before Zyra", {"content": "declares", "entities": ["Zyra"]}, "after Zyra"])
    )
    assert await space.entities(before) == {"Zyra": RECOGNISED}
    assert await space.entities(declares) == {"Zyra": DECLARED}
    assert await space.entities(after) == {"Zyra": RECOGNISED}


async def test_a_stop_word_stays_what_a_writer_declared_it_to_be(space: Space) -> None:
    declares = await space.remember("about Will", entities=["Will"])
    other = await space.remember("he said he will")
    assert await space.entities(declares.id) == {"Will": DECLARED}
    assert await space.entities(other.id) == {}


async def test_a_subject_stays_one_though_it_is_mentioned_and_recognised_too(space: Space) -> None:
    memory = await space.remember(
        "Zyra is Zyra", entities=["Zyra", {"name": "the Zyra", "role": "subject"}, {"name": "zyra", "role": "mention"}]
    )
    await space.remember("other", entities=["Zyra"])
    ((name, found),) = (await space.entities(memory.id)).items()
    assert name.casefold().endswith("zyra")
    assert found == SUBJECT


async def test_two_who_write_at_once_are_linked(space: Space) -> None:
    async def pair(number: int) -> tuple[str, str]:
        uses, declares = await asyncio.gather(
            space.remember(f"met Zyra{number:03} there"),
            space.remember(f"number {number}", entities=[f"Zyra{number:03}"]),
        )
        return uses.id, declares.id

    pairs = [await pair(number) for number in range(10)]
    pairs += await asyncio.gather(*(pair(number) for number in range(10, 40)))
    for uses, declares in pairs:
        assert list(await space.neighbours(uses, "entity_link")) == [declares]


async def test_what_another_writer_found_meanwhile_is_not_taken_away(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reads which names are known and is slow to look for them; the other declares one in that time."""
    looked, declared = threading.Event(), threading.Event()
    look = projection._mentions

    def slowly(texts: Any, *rest: Any) -> Any:
        if any(text.content.startswith("slow") for text in texts) and not looked.is_set():
            looked.set()
            # Not for ever: the other may be made to wait for us.
            declared.wait(1)
        return look(texts, *rest)

    monkeypatch.setattr(projection, "_mentions", slowly)
    writing = asyncio.create_task(space.remember("slow to see Zyra"))
    await asyncio.to_thread(looked.wait)
    declares = await space.remember("declares", entities=["Zyra"])
    declared.set()
    uses = await writing
    assert await space.entities(uses.id) == {"Zyra": RECOGNISED}
    assert list(await space.neighbours(declares.id, "entity_link")) == [uses.id]


async def test_what_is_deleted_while_names_are_looked_for_names_nothing(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await space.remember("first", entities=["Zyra"])
    other = await space.remember("second", entities=["Zyra"])
    looked, deleted = threading.Event(), threading.Event()
    look = projection._mentions

    def slowly(*given: Any) -> Any:
        looked.set()
        deleted.wait(1)
        return look(*given)

    monkeypatch.setattr(projection, "_mentions", slowly)
    writing = asyncio.create_task(space.remember("Zyra again"))
    await asyncio.to_thread(looked.wait)
    (gone,) = [hit.id for hit in (await space.ask("Zyra again")).results if hit.content == "Zyra again"]
    await space.forget(gone)
    deleted.set()
    assert (await writing).status == "deleted"
    # Two name it, and no ghost of a third.
    assert await space.neighbours(one.id, "entity_link") == {other.id: pytest.approx(1 / (1 + math.log(2)))}


async def test_a_deleted_memory_names_nothing_any_more(space: Space) -> None:
    memory = await space.remember("Zyra is here", entities=[{"name": "Zyra", "role": "subject"}])
    other = await space.remember("where is Zyra")
    await space.forget(memory.id)
    assert await space.neighbours(other.id, "entity_link") == {}
    third = await space.remember("Zyra again")
    # Two name it now, and not three.
    assert await space.neighbours(other.id, "entity_link") == {third.id: pytest.approx(1 / (1 + math.log(2)))}


async def test_a_name_whose_only_writer_was_deleted_is_still_known(space: Space) -> None:
    memory = await space.remember("Zyra is here", entities=["Zyra"])
    await space.forget(memory.id)
    later = await space.remember("Zyra is back")
    assert await space.entities(later.id) == {"Zyra": RECOGNISED}


async def test_agents_do_not_share_names(shared_services: Services, space: Space) -> None:
    other = await new_space(shared_services)
    await other.remember("there", entities=["Zyra"])
    memory = await space.remember("Zyra is here")
    assert await space.entities(memory.id) == {}
    assert (await space.stats()).entities == 0


async def test_every_spelling_of_a_name_is_kept(space: Space) -> None:
    for number, spelling in enumerate(["The Billing Service", "billing services", "Billing Service's"]):
        await space.remember(f"number {number}", entities=[spelling])
    assert (await space.stats()).entities == 1
    async with space.services.database.snapshot() as connection:
        aliases = await driver(connection).fetch(
            "SELECT alias FROM entity_aliases WHERE agent_id = $1::text::uuid ORDER BY alias", space.agent_id
        )
    assert {alias for (alias,) in aliases} == {"The Billing Service", "billing services", "Billing Service's"}


async def test_recognition_can_be_switched_off(settings: Settings, static_weights: None) -> None:
    async with open_services(settings.model_copy(update={"entity_recognition": "off"})) as services:
        space = await new_space(services)
        memory = await space.remember("Zyra met Quill", entities=["Quill"])
        await space.remember("other", entities=["Zyra"])
        assert await space.entities(memory.id) == {"Quill": DECLARED}
        assert (await space.stats()).pending_links == 0


async def test_rules_propose_capitalised_names(settings: Settings, static_weights: None) -> None:
    async with open_services(settings.model_copy(update={"entity_recognition": "rules"})) as services:
        space = await new_space(services)
        earlier = await space.remember("we saw zyra kline")
        memory = await space.remember("Yesterday I met Zyra Kline in Paris")
        assert set(await space.entities(memory.id)) == {"Zyra Kline", "Paris"}
        assert await space.entities(earlier.id) == {"Zyra Kline": RECOGNISED}


NAMES = (
    "new york",
    "new york city",
    "york",
    "city",
    "data lake",
    "lake",
    "mouse",
    "analysis",
    "kubernetes",
    "james",
    "node.js",
    "node js",
    "c++",
    "北京",
    "北京大学",
)
PIECES = (
    *("new", "york", "city", "cities", "data", "lakes", "lake", "mice", "mouse", "analyses", "kubernetes", "james's"),
    *("node.js", "node js", "c", "c++", "北京", "北京大学", "大学", "and"),
)

texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map(" ".join)


@given(
    memories=st.dictionaries(texts, st.lists(st.sampled_from(NAMES), max_size=2), min_size=2, max_size=10),
    language=st.sampled_from(["english", "none"]),
    data=st.data(),
)
@rules(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_the_order_of_writing_makes_no_difference(
    shared_services: Services, memories: dict[str, list[str]], language: str, data: st.DataObject
) -> None:
    items = [{"content": text, "entities": names} for text, names in memories.items()]

    async def written(order: list[dict[str, Any]], size: int) -> dict[str, dict[str, tuple[str, bool]]]:
        space = await new_space(shared_services, language=language)
        for start in range(0, len(order), size):
            await space.remember_all(order[start : start + size])
        return {hit.content: await space.entities(hit.id) for hit in (await space.ask(top_k=200)).results}

    all_at_once = await written(items, len(items))
    one_by_one = await written(data.draw(st.permutations(items)), data.draw(st.integers(1, 3)))
    assert one_by_one == all_at_once
