"""From what variants found to the figures of a run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engram.evaluation.extraction import Extraction
from engram.evaluation.figures import figures, figures_by_type, latency
from engram.evaluation.metrics import measure
from engram.evaluation.questions import Question, QuestionSet
from engram.evaluation.results import Outcome
from engram.evaluation.runs import Asked, SetRun, VariantRun
from engram.evaluation.variants import EXTRACTION, RECOGNITION, Variant
from engram.evaluation.verdicts import verdicts
from engram.tuning import Tuning


def set_run(
    questions: QuestionSet, asked: Sequence[Question], outcomes: Sequence[Outcome], ks: Sequence[int]
) -> SetRun:
    """The figures of all variants on a set."""
    gold = {question.id: question.gold for question in asked}
    types = [question.type for question in asked]
    measured = {
        outcome.variant.name: measure(outcome.answers.rankings, gold, ks) for outcome in outcomes if outcome.answers
    }
    names = {one.variant.name for one in outcomes if one.variant.extraction is not Extraction.none}
    against = verdicts(measured, names)
    variants = []
    for outcome in outcomes:
        variant = outcome.variant
        run = VariantRun(
            name=variant.name,
            request=dict(variant.request),
            tuning=_tuned(variant),
            loaded=outcome.loaded,
        )
        if outcome.answers is None:
            assert variant.ablated is not None
            run.missing = variant.ablated.value
        else:
            one = measured[variant.name]
            run.figures, run.types = figures(one), figures_by_type(one, types)
            run.latency = latency(outcome.answers.took_ms)
            run.against = against[variant.name]
            run.rankings = outcome.answers.rankings
        variants.append(run)
    return SetRun(
        name=questions.name,
        fingerprint=questions.fingerprint,
        memories=questions.memories,
        banks=len(questions.banks),
        left_out=questions.left_out,
        questions=[Asked(id=one.id, type=one.type, gold=sorted(one.gold)) for one in asked],
        variants=variants,
    )


def _tuned(variant: Variant) -> dict[str, Any]:
    """What of a variant's tuning is not the product's own."""
    own, tuned = asdict(Tuning()), asdict(variant.tuning)
    changed = {
        name: value for room, values in tuned.items() for name, value in values.items() if value != own[room][name]
    }
    if variant.recognition:
        changed[RECOGNITION] = variant.recognition
    if variant.extraction is not Extraction.none:
        changed[EXTRACTION] = variant.extraction.value
    return changed
