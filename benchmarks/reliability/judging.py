"""The figures of a run, and what was wanted of each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure, Sheet, Size, at_least, at_most
from benchmarks.reliability.load import Load
from benchmarks.reliability.plan import Cause, Disturbance, Plan
from benchmarks.reliability.recovery import ENOUGH, explained, recovery
from benchmarks.reliability.resources import Held, trend
from benchmarks.reliability.samples import NO_ANSWER, Kind, Sample
from benchmarks.reliability.verifying import Verdict
from benchmarks.timing import Times

FIRST_SECONDS = 5.0
STEADY_SECONDS = 10.0
"""Within which one request has to succeed again, and 95 % of them, after what they need is back."""

AWAY_SECONDS = 60.0
"""How long a killed Postgres may be away: the server has to see it, and Postgres to read its log."""

POOL_SIZE = 10
_FEW = 3
_GROWTH = 1.10
_GROWTH_MB = 32.0
"""What bounded caches take before they are full: of words, of terms, of vectors of questions, of statements."""

_SHORTEST_TREND_SECONDS = 60.0
_SHORTEST_DRAIN_SECONDS = 500.0
"""After the last disturbance of a run that is as long as this, links that were cut off by it have been made again."""


@dataclass(frozen=True, slots=True)
class Course:
    """What a run brought. ``rest`` is what the server held before the clients came, and after they had gone."""

    plan: Plan
    load: Load
    disturbances: Sequence[Disturbance]
    held: Sequence[Held]
    rest: tuple[Held, Held]
    owed_links: int | None
    verdict: Verdict


def figures(course: Course) -> list[Figure]:
    memories = course.verdict.standing + course.verdict.deleted
    size = Size(memories=memories, agents=course.plan.agents)
    sheets = [Sheet(name, size) for name in ("requests", "truth", "disturbances", "resources")]
    for sheet, fill in zip(sheets, (_requests, _truth, _disturbances, _resources), strict=True):
        fill(sheet, course)
    return [figure for sheet in sheets for figure in sheet.figures]


def _requests(sheet: Sheet, course: Course) -> None:
    samples = course.load.samples
    sheet.add("requests", len(samples), "", better="higher")
    sheet.add("requests a second", len(samples) / course.plan.seconds, "1/s", better="higher")
    failed = [one for one in samples if not one.ok]
    sheet.add("failed", len(failed), "")
    for answer in sorted({(one.status, one.problem) for one in failed}):
        count = sum((one.status, one.problem) == answer for one in failed)
        sheet.add(f"failed with {answer[0]} {answer[1]}" if answer[0] != NO_ANSWER else "without an answer", count, "")
    for kind in Kind:
        times = Times(one.ended - one.began for one in samples if one.kind is kind and one.ok)
        if times.seconds:
            sheet.add(f"{kind}, p50", times.milliseconds(50), "ms")
            sheet.add(f"{kind}, p99", times.milliseconds(99), "ms")
    longest = Times(one.ended - one.began for one in samples)
    sheet.add("the slowest answer of all", longest.milliseconds(100) / 1000, "s")


def _truth(sheet: Sheet, course: Course) -> None:
    verdict, load = course.verdict, course.load
    none = at_most(0, of="value")
    for name, count in (
        ("acknowledged memories and edges lost", verdict.lost.count),
        ("deleted memories and erased agents still there", verdict.undead.count),
        ("memories that differ from what was written", verdict.altered.count),
        ("batches stored in part", verdict.torn.count),
        ("memories that nobody wrote, that were refused, or stored twice", verdict.unwritten.count),
        ("wrong answers during the load", load.wrong.count),
        ("answers other than 408, 429, 502, 503, 504 with a problem document", load.unexplained.count),
        ("failures while nothing was disturbed", _undisturbed(course)),
        ("recalls answered without an embedding", _without_embedding(course)),
    ):
        sheet.add(name, count, "", target=none)
    for name, count in (
        ("held against the ledger: memories that stand", verdict.standing),
        ("held against the ledger: memories that were deleted", verdict.deleted),
        ("held against the ledger: batches", verdict.batches),
        ("held against the ledger: edges", verdict.edges),
        ("held against the ledger: erased agents", len(load.ledger.erased)),
        ("of which the answer was lost: either is right", verdict.open),
        ("of which the answer said that nothing was stored", verdict.refused),
    ):
        sheet.add(name, count, "", better="higher")


def _undisturbed(course: Course) -> int:
    return sum(not one.ok and not explained(one, course.disturbances) for one in course.load.samples)


def _without_embedding(course: Course) -> int:
    """Successes of new questions that were asked and answered while the embedder failed."""
    return sum(
        one.ok and one.kind is Kind.recall and _within(one, disturbance)
        for one in course.load.samples
        for disturbance in course.disturbances
        if disturbance.cause is Cause.embedder
    )


def _disturbances(sheet: Sheet, course: Course) -> None:
    for one in course.disturbances:
        found = recovery(one, course.load.samples)
        away = at_most(AWAY_SECONDS, of="value") if one.cause is Cause.kill else None
        sheet.add(f"{one.cause}: away", one.ended - one.began, "s", target=away)
        sheet.add(f"{one.cause}: requests that failed", found.failed, "")
        first = at_most(FIRST_SECONDS, of="value")
        sheet.add(f"{one.cause}: first success, after it was back", _seconds(found.first), "s", target=first)
        steady = at_most(STEADY_SECONDS, of="value")
        sheet.add(f"{one.cause}: 95 % succeed, after it was back", _seconds(found.steady), "s", target=steady)
        if one.cause is Cause.embedder:
            others = [sample for sample in course.load.samples if _within(sample, one) and not sample.kind.embeds]
            if others:
                share = sum(sample.ok for sample in others) / len(others)
                target = at_least(ENOUGH, of="value")
                sheet.add(f"{one.cause}: others succeed", share, "of 1", better="higher", target=target)


def _resources(sheet: Sheet, course: Course) -> None:
    found, (before, after) = course.held, course.rest
    memory = trend(found)
    flat = at_most(round(max(_GROWTH, 1 + _GROWTH_MB / memory.first), 2))
    long = course.plan.seconds >= _SHORTEST_TREND_SECONDS
    beside = ("after the warm-up", memory.first)
    sheet.add("memory of the server at the end", memory.last, "MB", beside=beside, target=flat if long else None)
    sheet.add("memory of the server, slope", memory.a_minute, "MB a minute")
    most = max(one.connections or 0 for one in found)
    sheet.add("connections, the most", most, "", target=at_most(POOL_SIZE + _FEW, of="value"))
    sheet.add("connections at the end", after.connections or 0, "", target=at_most(POOL_SIZE, of="value"))
    sheet.add("files and sockets of the server, the most", max(one.files for one in found), "")
    sheet.add(
        "files and sockets at rest, without connections",
        after.other_files,
        "",
        beside=("before", before.other_files),
        target=at_most(_FEW, of="difference"),
    )
    if course.owed_links is not None:
        drained = at_most(0, of="value") if course.plan.seconds >= _SHORTEST_DRAIN_SECONDS else None
        sheet.add("memories that wait for links at the end", course.owed_links, "", target=drained)


def _seconds(found: float | None) -> float:
    return float("inf") if found is None else found


def _within(sample: Sample, disturbance: Disturbance) -> bool:
    return sample.began >= disturbance.began and sample.ended <= disturbance.ended
