"""Two runs on the same questions, compared question by question. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from engram.evaluation.metrics import Measured, measure
from engram.evaluation.problems import EvaluationError
from engram.evaluation.runs import Run, SetRun
from engram.evaluation.significance import Difference
from engram.evaluation.verdicts import by_metric


class Change(BaseModel):
    """Of one metric: its mean before and after, and the difference, better where it is above 0."""

    before: float
    after: float
    difference: Difference


class Comparison(BaseModel):
    """A variant on a set, by metric."""

    set: str
    variant: str
    questions: int
    metrics: dict[str, Change]


def compare(before: Run, after: Run) -> list[Comparison]:
    """All variants that both runs have, on each set. Raises EvaluationError where they did not ask the same."""
    _require_same_questions(before, after)
    ks = sorted(set(before.ks) & set(after.ks))
    if not ks:
        raise EvaluationError(f"the runs have no k in common: {_listed(before.ks)} and {_listed(after.ks)}")
    found = []
    for one, other in zip(before.sets, after.sets, strict=True):
        for name in (variant.name for variant in one.variants):
            measured = [_measured(run, name, ks) for run in (one, other)]
            if measured[0] is not None and measured[1] is not None:
                found.append(_comparison(one, name, measured[0], measured[1]))
    if not found:
        names = [_listed({variant.name for one in run.sets for variant in one.variants}) for run in (before, after)]
        raise EvaluationError(f"the runs have no variant in common: {names[0]}; and {names[1]}")
    return found


def _require_same_questions(before: Run, after: Run) -> None:
    names = [[one.name for one in run.sets] for run in (before, after)]
    if names[0] != names[1]:
        raise EvaluationError(f"the runs are on different sets: {_listed(names[0])}; and {_listed(names[1])}")
    for one, other in zip(before.sets, after.sets, strict=True):
        if one.fingerprint != other.fingerprint:
            raise EvaluationError(f"the files of {one.name} were others in the second run")
        if one.gold != other.gold:
            raise EvaluationError(
                f"of {one.name} the runs asked different questions: {len(one.questions)} and {len(other.questions)}"
            )


def _measured(run: SetRun, name: str, ks: Sequence[int]) -> Measured | None:
    variant = run.variant(name)
    return None if variant is None else measure(variant.rankings, run.gold, ks)


def _comparison(run: SetRun, name: str, before: Measured, after: Measured) -> Comparison:
    changes = {
        metric: Change(
            before=float(before.of(metric).mean()), after=float(after.of(metric).mean()), difference=difference
        )
        for metric, difference in by_metric(after, before).items()
    }
    return Comparison(set=run.name, variant=name, questions=len(run.questions), metrics=changes)


def _listed(items: Sequence[object] | set[str]) -> str:
    return ", ".join(sorted(map(str, items))) or "none"
