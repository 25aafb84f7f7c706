"""Refusing what a memory declares of entities where it names none, or is in no unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engram.facts.quantities.checking import check_quantities
from engram.facts.quantities.schemas import Quantity
from engram.facts.statements.checking import check_relations
from engram.facts.statements.schemas import Relation


class Declaring(Protocol):
    """A memory that is to be written, or a change of one that leaves out what it does not change."""

    @property
    def relations(self) -> Sequence[Relation] | None: ...

    @property
    def quantities(self) -> Sequence[Quantity] | None: ...


def check_declared(item: Declaring, *, prefix: str = "") -> None:
    """Raises InvalidInputProblem, naming the field behind ``prefix``. Work for a thread."""
    check_relations(item.relations or (), prefix=prefix)
    check_quantities(item.quantities or (), prefix=prefix)
