"""Refusing relations whose ends name nothing."""

from __future__ import annotations

from collections.abc import Sequence

from engram.entities.canonical import canonical_name
from engram.facts.statements.schemas import Relation
from engram.problems import InvalidInputProblem


def check_relations(relations: Sequence[Relation], *, prefix: str = "") -> None:
    """Raises InvalidInputProblem, naming the end behind ``prefix``, for one without a canonical form. Work for a
    thread."""
    for place, relation in enumerate(relations):
        for end in ("subject", "object"):
            if canonical_name(getattr(relation, end)) is None:
                raise InvalidInputProblem.of(
                    f"{prefix}relations.{place}.{end}",
                    f"{_shown(getattr(relation, end))} names no entity: it is a pronoun or the like, shorter than three"
                    " characters, or longer than 256",
                )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
