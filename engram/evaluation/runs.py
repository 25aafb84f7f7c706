"""A run: what was asked of which sets, what each variant found, and how good that is. Pure."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from engram.evaluation.figures import Figures, Latency
from engram.evaluation.results import Loaded
from engram.evaluation.verdicts import Verdicts


class Asked(BaseModel):
    """A question that was asked; ``gold`` in order."""

    id: str
    type: str
    gold: list[str]


class VariantRun(BaseModel):
    """A variant on a set. ``tuning`` has what is not the product's own. ``missing`` is the edge type that the variant
    leaves out and the set has none of: then nothing was asked, and the figures would be those of the full variant."""

    name: str
    request: dict[str, Any]
    tuning: dict[str, Any]
    loaded: Loaded
    missing: str | None = None
    figures: Figures | None = None
    types: dict[str, Figures] = Field(default_factory=dict)
    latency: Latency | None = None
    against: Verdicts = Field(default_factory=dict)
    rankings: dict[str, list[str]] = Field(default_factory=dict)


class SetRun(BaseModel):
    """``fingerprint`` is that of the set's files; ``left_out`` questions have no gold, or one that is not asked for."""

    name: str
    fingerprint: str
    memories: int
    banks: int
    left_out: int
    questions: list[Asked]
    variants: list[VariantRun]

    @property
    def gold(self) -> dict[str, frozenset[str]]:
        return {question.id: frozenset(question.gold) for question in self.questions}

    def variant(self, name: str) -> VariantRun | None:
        """The variant of that name, if it was measured."""
        return next((one for one in self.variants if one.name == name and one.missing is None), None)


class Environment(BaseModel):
    """Under what the figures were found. ``source`` is a fingerprint of Engram's code and the libraries it uses."""

    engram: str
    source: str
    embedding_provider: str
    embedding_model: str | None
    settings: dict[str, Any]
    titles: str
    language: str
    at_once: int


class Run(BaseModel):
    """``date`` is UTC, ISO 8601; ``format`` changes when older readers could not read it."""

    format: Literal[1] = 1
    date: str
    environment: Environment
    ks: list[int]
    sets: list[SetRun]

    def summary(self) -> dict[str, Any]:
        """The run without its questions and rankings: the figures alone."""
        return self.model_dump(
            mode="json",
            exclude={"sets": {"__all__": {"questions": True, "variants": {"__all__": {"rankings"}}}}},
        )
