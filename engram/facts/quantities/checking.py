"""Refusing numbers of nothing, and in units that there are not."""

from __future__ import annotations

from collections.abc import Sequence

from engram.entities.canonical import canonical_name
from engram.facts.quantities.schemas import Quantity
from engram.facts.quantities.units import UnknownUnitError, check_unit
from engram.problems import InvalidInputProblem

NO_UNIT = "is no unit of measurement that is known, such as km/h, degC, GB or EUR; leave it out for a bare number"


def check_quantities(quantities: Sequence[Quantity], *, prefix: str = "") -> None:
    """Raises InvalidInputProblem, naming the field behind ``prefix``, for an entity without a canonical form and for an
    unknown unit. Work for a thread."""
    for place, quantity in enumerate(quantities):
        field = f"{prefix}quantities.{place}"
        if canonical_name(quantity.entity) is None:
            raise InvalidInputProblem.of(
                f"{field}.entity",
                "names no entity: it is a pronoun or the like, shorter than three characters, or longer than 256",
            )
        if quantity.unit is not None:
            check_named_unit(quantity.unit, f"{field}.unit")


def check_named_unit(unit: str, field: str) -> None:
    """Raises InvalidInputProblem for an unknown unit. Work for a thread."""
    try:
        check_unit(unit)
    except UnknownUnitError:
        raise InvalidInputProblem.of(field, f"{unit!r} {NO_UNIT}") from None
