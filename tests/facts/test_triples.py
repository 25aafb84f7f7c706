"""Facts by what they say: filters, orders, pages, sources, and taking out what one extractor said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.facts.schemas import FactAppend, MergeCreate, Provenance
from engram.facts.triples.schemas import TripleSort
from engram.tenants.scope import DEFAULT_SCOPE
from tests.facts.stating import Teller, from_, said
from tests.fixtures.spaces import Space

ANNA, BERT, CARL = ("Anna", "knows", "Bert"), ("Bert", "knows", "Carl"), ("Carl", "likes", "Anna")


@pytest.fixture
async def teller(space: Space) -> Teller:
    """Anna knows Bert by three memories, Bert knows Carl by two, Carl likes Anna by one, which came last."""
    teller = Teller(space)
    for number, relations in enumerate(([ANNA, BERT], [ANNA, BERT], [ANNA], [CARL])):
        await teller.say(f"text {number}", *relations)
    return teller


def lower(*lines: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    return [(subject.lower(), relation, object.lower()) for subject, relation, object in lines]


async def append(teller: Teller, subject: str, predicate: str, object: str, **fields: object) -> None:
    item = FactAppend.model_validate(
        {
            "agent_id": teller.space.agent_id,
            "subject": subject,
            "predicate": predicate,
            "object": object,
            **fields,
        }
    )
    await teller.services.facts.append(DEFAULT_SCOPE, item)


async def test_what_most_memories_state_comes_first_and_by_recency_what_came_last(teller: Teller) -> None:
    assert [said(line) for line in await teller.lines()] == lower(ANNA, BERT, CARL)
    recent = await teller.lines(sort_by=TripleSort.recency)
    assert [said(line) for line in recent] == lower(CARL, ANNA, BERT)
    for order in TripleSort:
        whole = await teller.lines(sort_by=order)
        assert await teller.lines(sort_by=order, page=1) == whole


async def test_each_condition_holds_and_an_entity_is_at_either_end(teller: Teller) -> None:
    assert set(await teller.stated(subject="the Anna's")) == set(lower(ANNA))
    assert set(await teller.stated(entity="ANNA")) == set(lower(ANNA, CARL))
    assert set(await teller.stated(relation="knows", object="Carl")) == set(lower(BERT))
    assert await teller.lines(subject="Anna", relation="likes") == []
    assert await teller.lines(entity="nobody at all") == []
    assert set(await teller.stated(provenance=Provenance.inferred)) == set(lower(ANNA, BERT, CARL))
    assert await teller.lines(provenance=Provenance.facet) == []
    assert await teller.lines(adapter="somebody") == []


async def test_as_of_keeps_what_held_then(teller: Teller) -> None:
    await teller.say("old", from_("Anna", "lives_in", "Bonn", "1990-01-01", "1999-01-01"))
    assert set(await teller.stated(as_of=datetime(1995, 1, 1, tzinfo=UTC))) == {("anna", "lives_in", "bonn")}
    assert await teller.lines(subject="Anna", relation="lives_in") == []


async def test_appended_facts_are_lines_too_whatever_their_ends_are(teller: Teller) -> None:
    await append(teller, "Anna", "knows", "Bert")
    await append(teller, "it", "is_in", "42")
    lines = await teller.stated()
    assert lines[lower(ANNA)[0]].co_occur == 4
    assert lines["it", "is_in", "42"].provenance is None


async def test_merged_entities_are_one(teller: Teller) -> None:
    await teller.say("as Robert", ("Anna", "knows", "Robert"))
    request = MergeCreate(agent_id=teller.space.agent_id, name="Bert", other="Robert")
    merge = await teller.services.facts.merges.merge(DEFAULT_SCOPE, request)
    (line,) = await teller.lines(object="Robert")
    assert (said(line), line.co_occur) == (("anna", "knows", "bert"), 4)
    await teller.services.facts.merges.undo(DEFAULT_SCOPE, merge.id)
    assert {line.co_occur for line in await teller.lines(subject="Anna", relation="knows")} == {3, 1}


async def test_known_at_sees_the_merges_that_stood(teller: Teller) -> None:
    await teller.say("as Robert", ("Anna", "knows", "Robert"))
    request = MergeCreate(agent_id=teller.space.agent_id, name="Bert", other="Robert")
    merge = await teller.services.facts.merges.merge(DEFAULT_SCOPE, request)
    before = merge.recorded_at - timedelta(microseconds=1)
    (line,) = await teller.lines(object="Robert", known_at=before)
    assert (said(line), line.co_occur) == (("anna", "knows", "robert"), 1)
    await teller.services.facts.merges.undo(DEFAULT_SCOPE, merge.id)
    (line,) = await teller.lines(object="Robert", known_at=merge.recorded_at)
    assert (said(line), line.co_occur) == (("anna", "knows", "bert"), 4)


async def test_sources_are_the_last_ten_memories_and_what_outlived_them_is_stale(teller: Teller) -> None:
    ids = [(await teller.say(f"more {number}", ("Anna", "knows", "Dora"))).id for number in range(12)]
    (line,) = await teller.lines(object="Dora", include_sources=True)
    assert line.sources is not None
    assert [source.memory_id for source in line.sources] == ids[:1:-1]
    assert (line.stale, line.sources[0].status) == (None, None)
    first = await teller.set("note", "said once")
    await append(teller, "Anna", "visited", "Dora", sources=[first.id])
    (line,) = await teller.lines(relation="visited", include_source_status=True)
    assert line.stale is False
    await teller.set("note", "said otherwise")
    (line,) = await teller.lines(relation="visited", include_source_status=True)
    assert line.sources is not None
    assert (line.stale, [source.status for source in line.sources]) == (True, ["superseded"])
    assert [line.stale for line in await teller.lines(relation="likes", include_source_status=True)] == [False]


async def test_expiring_an_adapter_takes_out_what_it_said_and_leaves_the_memories(teller: Teller) -> None:
    def by(object: str, confidence: float, adapter: str = "llm-1") -> dict[str, object]:
        return {
            "subject": "Anna",
            "predicate": "lives_in",
            "object": object,
            "confidence": confidence,
            "adapter_name": adapter,
        }

    await teller.say("by hand", ["Anna", "lives_in", "Oslo"])
    weak = await teller.say("weak", by("Rome", 0.3))
    strong = await teller.say("strong", by("Bern", 0.9))
    before = datetime.now(UTC)
    assert {line.object for line in await teller.lines(adapter="llm-1")} == {"bern"}
    expired = await teller.expire("llm-1", max_confidence=0.5)
    assert (expired.expired, await teller.current(subject="Anna")) == (1, {"bern"})
    expired = await teller.expire("llm-1")
    # What it had ended holds on, as if it had not been said.
    assert (expired.expired, expired.changed, await teller.current(subject="Anna")) == (1, 1, {"oslo"})
    assert await teller.current(subject="Anna", at=before) == {"oslo"}
    assert {line.object for line in await teller.lines(adapter="llm-1", known_at=before)} == {"bern"}
    assert [(await teller.space.get(memory.id)).status for memory in (weak, strong)] == ["current", "current"]
    # Neither a change of the memory nor its restoration brings it back.
    await teller.change(strong.id, content="strong, and more")
    await teller.delete(strong.id)
    await teller.undo(strong.id)
    assert await teller.current(subject="Anna") == {"oslo"}
