"""The reliability benchmark finds what is wrong where something is, and nothing where nothing is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from benchmarks.figures import Sheet, Size, at_most
from benchmarks.reliability import markdown
from benchmarks.reliability.command import faults
from benchmarks.reliability.judging import figures
from benchmarks.reliability.ledger import Edge, Entry, Ledger, State, Write
from benchmarks.reliability.load import Load
from benchmarks.reliability.plan import Cause, Disturbance, Plan, Planned
from benchmarks.reliability.recovery import Recovery, explained, recovery
from benchmarks.reliability.resources import Held, trend
from benchmarks.reliability.running import run
from benchmarks.reliability.samples import Kind, Sample
from benchmarks.reliability.texts import Texts
from benchmarks.reliability.truth import missed, shown_wrongly
from benchmarks.reliability.vectors import vector_of
from benchmarks.reliability.verifying import Verdict, verify
from benchmarks.report import Environment, Report
from engram import AsyncEngram
from engram.memories.schemas import Memory

AGENT, OTHER = str(uuid4()), str(uuid4())
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def _entry(content: str = "Alice moved to Lisbon.", agent_id: str = AGENT, **fields: Any) -> Entry:
    item = {"content": content, "user_id": None, "session_id": "s", "tags": ["t"], "metadata": {}, "valid_from": NOW}
    return Entry(agent_id, item, **{"state": State.stored, "id": str(uuid4()), **fields})


def _ledger(*entries: Entry) -> Ledger:
    return Ledger(
        by_content={entry.content: entry for entry in entries},
        by_id={entry.id: entry for entry in entries if entry.id is not None},
    )


def _shown(entry: Entry, **changes: Any) -> Memory:
    fields = {"id": entry.id or str(uuid4()), "agent_id": entry.agent_id, **entry.item, "source": None, "confidence": 1}
    times = {"valid_until": None, "recorded_at": NOW, "updated_at": NOW}
    return Memory.model_validate({**fields, **times, "status": "current", **changes})


@pytest.mark.parametrize(
    ("entry", "changes", "wrong"),
    [
        (_entry(), {}, None),
        (_entry(state=State.deleted, deleted_at=11.0), {}, None),
        (_entry(state=State.deleted, deleted_at=9.0), {}, "a memory whose deletion was acknowledged before"),
        (_entry(state=State.sent, id=None), {}, None),
        (_entry(state=State.unknown, id=None), {}, None),
        (_entry(state=State.refused, id=None), {}, "a memory of which the answer said that it was not stored"),
        (_entry(agent_id=OTHER), {}, "a memory of another agent"),
        (_entry(), {"agent_id": OTHER}, "a memory of another agent"),
        (_entry(), {"content": "Alice moved to Porto."}, "a memory that differs from what was written"),
        (_entry(), {"tags": []}, "a memory that differs from what was written"),
        (_entry(), {"id": str(uuid4())}, "a memory that differs from what was written"),
        (_entry(), {"id": str(uuid4()), "content": "Bob."}, "a text that nobody wrote"),
    ],
)
def test_what_a_request_of_second_ten_may_be_shown(entry: Entry, changes: dict[str, Any], wrong: str | None) -> None:
    found = shown_wrongly(_ledger(entry), AGENT, [_shown(entry, **changes)], began=10.0)
    assert [said.partition(":")[0] for said in found] == ([wrong] if wrong else [])


def test_a_memory_that_stands_must_be_among_the_hits() -> None:
    entry, other = _entry(), _entry("Bob.")
    assert missed(entry, [_shown(other)])
    assert not missed(entry, [_shown(other), _shown(entry)])
    assert not missed(_entry(state=State.deleting), [])


def test_a_lost_answer_leaves_open_what_a_later_refusal_says_and_not_what_a_later_success_says() -> None:
    ledger = Ledger()
    write = ledger.sending(AGENT, [{"content": "a"}, {"content": "b"}])
    write.settle(State.refused)
    assert {entry.state for entry in write.entries} == {State.refused}
    write.resending()
    write.settle(State.unknown)
    write.resending()
    write.settle(State.refused)
    assert {entry.state for entry in write.entries} == {State.unknown}
    ledger.acknowledged(write, ["1", "2"])
    assert {entry.state for entry in write.entries} == {State.stored}


def _sample(began: float, status: int = 200, kind: Kind = Kind.get, problem: str = "unavailable") -> Sample:
    return Sample(kind, began, began + 0.1, status, problem if status != 200 else "")


def test_recovery_is_counted_from_when_the_dependency_was_back() -> None:
    away = Disturbance(Cause.kill, 10.0, 14.0)
    statuses = {9: 200, 11: 503, 13: 503, 15: 503, 16: 200, 17: 503, 17.5: 503, 19: 200, 20: 200}
    found = recovery(away, [_sample(at, status) for at, status in statuses.items()])
    assert found == Recovery(failed=5, first=pytest.approx(2.1), steady=pytest.approx(5.1))


def test_what_does_not_need_the_embedder_says_nothing_of_its_recovery() -> None:
    away = Disturbance(Cause.embedder, 10.0, 14.0)
    samples = [_sample(12, 502, Kind.recall, "embedding-failed"), _sample(15), _sample(18, 200, Kind.recall)]
    assert recovery(away, samples) == Recovery(1, pytest.approx(4.1), pytest.approx(4.1))
    assert recovery(away, samples[:2]) == Recovery(1, None, None)


def test_nothing_that_failed_is_recovered_at_once() -> None:
    assert recovery(Disturbance(Cause.restart, 10.0, 11.0), [_sample(10.5), _sample(12)]) == Recovery(0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("sample", "is_explained"),
    [
        (_sample(12, 503), True),
        (_sample(15, 503), True),
        (_sample(9, 503), False),
        (_sample(60, 503), False),
        (_sample(12, 502, Kind.recall, "embedding-provider-failed"), False),
    ],
)
def test_a_failure_is_explained_by_what_was_away_at_the_time(sample: Sample, is_explained: bool) -> None:
    assert explained(sample, [Disturbance(Cause.kill, 10.0, 14.0)]) is is_explained


def test_a_trend_leaves_the_warm_up_out() -> None:
    grown = [Held(float(second), 100.0 if second < 120 else 150 + second / 60, 20, 5) for second in range(600)]
    found = trend(grown)
    assert found.a_minute == pytest.approx(1)
    assert (found.first, found.last) == (pytest.approx(152.4, abs=0.1), pytest.approx(159.6, abs=0.1))


def test_texts_are_never_the_same_and_their_vectors_always() -> None:
    texts = Texts("run")
    contents = [item["content"] for item in texts.items(50)]
    assert len(set(contents)) == 50
    one, same, other = (np.array(vector_of(text)) for text in (contents[0], contents[0], contents[30]))
    assert np.linalg.norm(one) == pytest.approx(1)
    assert one @ same > 0.999 > 0.8 > one @ other


def test_the_disturbances_of_ten_minutes_are_apart_and_within() -> None:
    plan = Plan.over(10, 32)
    ends = [(one.at, one.at + one.seconds) for one in plan.disturbances]
    assert [one.cause for one in plan.disturbances] == [Cause.restart, Cause.embedder, Cause.kill]
    assert all(end + 60 < begin for (_, end), (begin, _) in pairwise(ends))
    assert (plan.disturbances[1].seconds, ends[-1][1] < plan.seconds - 60) == (60, True)


def test_tables_take_the_place_of_older_ones_on_a_page(tmp_path: Path) -> None:
    sheet = Sheet("truth", Size(memories=1))
    sheet.add("lost", 2, "", target=at_most(0, of="value"))
    found = dict.fromkeys(Environment.model_fields, "x") | {"cpus": 2, "memory_gb": 4}
    report = Report(environment=Environment.model_validate(found), figures=sheet.figures)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{markdown.BEGIN}\nold\n{markdown.END}\nafter\n")
    for _ in range(2):
        markdown.write(report, "command", page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count("| lost | 2 | at most 0 | **not met** |") == 1


async def _told(engram: AsyncEngram, change: Callable[[Load], None] | None = None) -> Verdict:
    """Three memories in a batch, one that is deleted, and an edge, as a ledger knows them; and the verdict on it."""
    load = Load(Texts("verified"))
    agent = await engram.agents.create(f"verified {uuid4()}")
    load.agents[agent.name] = agent.id
    for number in (3, 1):
        write = load.ledger.sending(agent.id, load.texts.items(number))
        created = await engram.memories.create_many(agent.id, [entry.item for entry in write.entries])
        load.ledger.acknowledged(write, [result.id for result in created.results])
    one, two = load.ledger.writes[0].entries[:2]
    gone = load.ledger.writes[1].entries[0]
    await engram.memories.delete(str(gone.id))
    gone.state = State.deleted
    await engram.graph.create_edge(str(one.id), str(two.id), "supports")
    load.ledger.edges.append(Edge(one, two, "supports"))
    if change:
        change(load)
    return await verify(engram, load)


async def test_a_ledger_that_agrees_with_the_server_finds_nothing(engram: AsyncEngram) -> None:
    verdict = await _told(engram)
    assert (verdict.standing, verdict.deleted, verdict.batches, verdict.edges) == (3, 1, 1, 1)
    kinds = (verdict.lost, verdict.undead, verdict.altered, verdict.torn, verdict.unwritten)
    assert [kind.count for kind in kinds] == [0] * 5


def _lose(load: Load) -> None:
    load.ledger.writes[1].entries[0].state = State.stored


def _revive(load: Load) -> None:
    load.ledger.writes[0].entries[0].state = State.deleted


def _alter(load: Load) -> None:
    load.ledger.writes[0].entries[0].item["tags"] = ["another"]


def _tear(load: Load) -> None:
    absent = load.ledger.sending(next(iter(load.agents.values())), load.texts.items(1))
    load.ledger.writes[0] = Write([*load.ledger.writes[0].entries, *absent.entries])
    for entry in load.ledger.writes[0].entries:
        entry.state = State.unknown


def _forget(load: Load) -> None:
    load.ledger.by_content.pop(load.ledger.writes[0].entries[2].content)


def _refuse(load: Load) -> None:
    load.ledger.writes[0].settle(State.refused)


def _unlink(load: Load) -> None:
    edge = load.ledger.edges[0]
    load.ledger.edges.append(Edge(edge.target, load.ledger.writes[0].entries[2], "causal"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_lose, "lost"),
        (_unlink, "lost"),
        (_revive, "undead"),
        (_alter, "altered"),
        (_tear, "torn"),
        (_forget, "unwritten"),
        (_refuse, "unwritten"),
    ],
)
async def test_what_differs_from_the_ledger_is_found(
    engram: AsyncEngram, change: Callable[[Load], None], found: str
) -> None:
    verdict = await _told(engram, change)
    assert getattr(verdict, found).count > 0
    others = {"lost", "undead", "altered", "torn", "unwritten"} - {found}
    assert [getattr(verdict, name).told for name in others] == [[]] * 4


async def test_a_short_run_ends_with_every_answer_right(tmp_path: Path) -> None:
    disturbances = (Planned(Cause.embedder, 0.8, 1.5), Planned(Cause.restart, 3.0))
    plan = Plan(6.0, 4, disturbances, agents=2, embedding_timeout=0.5)
    said: list[str] = []
    course, environment = await run(plan, tmp_path, said.append)
    assert {kind: told for kind, told in faults(course).items() if told} == {}
    found = {figure.name: figure for figure in figures(course)}
    # How soon it is all well again is the machine's affair, which runs other tests too.
    assert [figure for figure in found.values() if figure.met is False and figure.run == "truth"] == []
    assert found["connections, the most"].met
    assert found["requests"].value > 0
    assert found["the embedder fails: requests that failed"].value > 0
    assert found["held against the ledger: memories that stand"].value > 0
    assert environment.embedder.startswith("openai/")
    assert said
