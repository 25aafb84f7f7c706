"""Neighbours in a session, by when they began to hold, then by arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.fixtures.spaces import Space, ids

START = datetime(2025, 5, 1, 9, tzinfo=UTC)


def at(minute: int, text: str, session: str | None = "s", **more: object) -> dict[str, object]:
    began = START + timedelta(minutes=minute)
    return {"content": text, "session_id": session, "valid_from": began, **more}


async def after(space: Space, id: str) -> list[str]:
    """Contents of what comes next."""
    edges = await space.edges(id, "temporal", direction="out")
    return [(await space.get(edge.target_memory_id)).content for edge in edges]


async def before(space: Space, id: str) -> list[str]:
    edges = await space.edges(id, "temporal", direction="in")
    return [(await space.get(edge.target_memory_id)).content for edge in edges]


async def chain(space: Space, session: list[str]) -> str:
    """A session's memories as each leads to the next, checked both ways."""
    following = {id: await after(space, id) for id in session}
    preceding = {id: await before(space, id) for id in session}
    texts = {(await space.get(id)).content: id for id in session}
    (first,) = [id for id in session if not preceding[id]]
    walked = [(await space.get(first)).content]
    while following[texts[walked[-1]]]:
        (text,) = following[texts[walked[-1]]]
        assert preceding[texts[text]] == [walked[-1]]
        walked.append(text)
    assert len(walked) == len(session)
    return " ".join(walked)


async def test_neighbours_are_linked_both_ways(space: Space) -> None:
    one, other = ids(await space.remember_all([at(1, "one"), at(2, "other")]))
    (edge,) = await space.edges(one, "temporal")
    assert (edge.target_memory_id, edge.direction, edge.weight) == (other, "out", 0.8)
    assert (edge.decay_multiplier, edge.origin) == (0.97, "temporal")
    (edge,) = await space.edges(other, "temporal")
    assert (edge.target_memory_id, edge.direction, edge.weight) == (one, "in", 0.8)


@pytest.mark.parametrize("question", ["how are you?", "你好吗？", "كيف حالك؟", "Really? I never knew."])
async def test_a_question_leads_to_its_answer_without_loss(space: Space, question: str) -> None:
    asked, answered = ids(await space.remember_all([at(1, question), at(2, "well, and you?")]))
    (edge,) = await space.edges(asked, "temporal")
    assert (edge.target_memory_id, edge.direction, edge.weight) == (answered, "out", 1)
    (edge,) = await space.edges(answered, "temporal")
    assert (edge.target_memory_id, edge.direction, edge.weight) == (asked, "in", 0.8)


async def test_a_batch_is_chained_in_time_whatever_its_order(space: Space) -> None:
    written = ids(await space.remember_all([at(3, "c"), at(1, "a"), at(4, "d"), at(2, "b")]))
    assert await chain(space, written) == "a b c d"


async def test_what_arrives_late_is_put_between_its_neighbours(space: Space) -> None:
    written = ids(await space.remember_all([at(1, "a"), at(3, "c")]))
    assert await chain(space, written) == "a c"
    written += ids(await space.remember_all([at(2, "b"), at(0, "first")]))
    assert await chain(space, written) == "first a b c"


async def test_at_the_same_instant_the_order_of_arrival_decides(space: Space) -> None:
    written = ids(await space.remember_all(at(1, text) for text in "cab"))
    written.append((await space.remember(**at(1, "d"))).id)  # type: ignore[arg-type]
    assert await chain(space, written) == "c a b d"


async def test_without_times_a_session_is_in_the_order_of_arrival(space: Space) -> None:
    texts = [f"turn-{number}" for number in range(30)]
    written = ids(await space.remember_all({"content": text, "session_id": "s"} for text in texts[:20]))
    for text in texts[20:]:
        written.append((await space.remember(text, session_id="s")).id)
    assert await chain(space, written) == " ".join(texts)


async def test_deleting_closes_the_gap(space: Space) -> None:
    a, b, c = ids(await space.remember_all([at(1, "a"), at(2, "b"), at(3, "c")]))
    await space.forget(b)
    assert await chain(space, [a, c]) == "a c"


async def test_sessions_are_apart(space: Space) -> None:
    written = ids(await space.remember_all([at(1, "a", "s"), at(2, "x", "t"), at(3, "b", "s"), at(4, "alone", None)]))
    assert await chain(space, [written[0], written[2]]) == "a b"
    assert await space.edges(written[1], "temporal") == await space.edges(written[3], "temporal") == []


async def test_what_did_not_hold_yet_or_any_more_is_passed_over(space: Space) -> None:
    ended = START + timedelta(minutes=10)
    a, b, c = ids(await space.remember_all([at(1, "a"), at(2, "b", valid_until=ended), at(3, "c")]))
    assert await chain(space, [a, c]) == "a c"
    held = {"as_of": START + timedelta(minutes=5)}
    (edge,) = await space.edges(a, "temporal", **held)
    assert edge.target_memory_id == b
    assert await space.edges(b, "temporal", direction="out", as_of=START + timedelta(minutes=2)) == []
    assert [e.target_memory_id for e in await space.edges(b, "temporal", direction="out", **held)] == [c]


async def test_a_recall_walks_a_session_hop_by_hop(space: Space) -> None:
    a, b, c = ids(
        await space.remember_all(
            at(minute, text, embedding=space.vector(*[0] * minute, 1)) for minute, text in enumerate("abc")
        )
    )
    hits = await space.hits(embedding=space.vector(1), lexical=False, max_hops=2)
    hop = 0.95 * 0.8 * 0.97
    assert hits[a].graph_score == 0
    assert hits[b].graph_score == pytest.approx(hop)
    assert hits[c].graph_score == pytest.approx(hop**2)
    assert [step.memory_id for step in hits[c].path] == [a, b, c]
    assert [step.direction for step in hits[c].path[1:]] == ["out", "out"]
