"""Units of measurement: which there are, and how a number in one is told in another. Pure.

Factors are kept as fractions, so that a conversion is exact but for the last rounding: 20 °C are 68 °F, and not
67.99999999999993.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pint

CURRENCIES = (
    *("AED", "ARS", "AUD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP", "HKD", "HUF"),
    *("IDR", "ILS", "INR", "JPY", "KES", "KRW", "MXN", "MYR", "NGN", "NOK", "NZD", "PHP", "PLN", "RON", "SAR", "SEK"),
    *("SGD", "THB", "TRY", "TWD", "UAH", "USD", "VND", "ZAR"),
)
"""Money that is known beside what is measured. Each converts to itself alone: rates are nobody's constant."""

BARE = "no unit"
"""How a bare number is spoken of."""

# What the library is given to read: names, small powers, products and ratios. It reads numbers, too, and computes.
_POWER = r"(?: ?(?:\*\*|\^) ?-?[0-9]{1,2}|[⁻]?[⁰¹²³⁴-⁹]{1,2})?"
_FACTOR = rf"(?:[^\W\d]\w*|%|‰|°\w+){_POWER}"
_UNIT = re.compile(rf"(?:1 ?/ ?)?{_FACTOR}(?:(?: ?[*/·] ?| ){_FACTOR})*")

_LOADING = threading.Lock()


class UnknownUnitError(ValueError):
    """There is no such unit."""


class IncompatibleUnitsError(ValueError):
    """Numbers in the one are nothing in the other."""


Conversion = Callable[[float], float]
"""May give what is not finite, where a number is beyond what the other unit can say."""


def registry(number: type = Fraction) -> pint.UnitRegistry[Any]:
    """Takes over a second to load, which neither a start nor somebody's first write should wait for."""
    # Units of two registries are nothing to each other: there is one, however many threads ask at first.
    with _LOADING:
        return _loaded(number)


@cache
def _loaded(number: type) -> pint.UnitRegistry[Any]:
    import pint  # noqa: PLC0415

    loaded: pint.UnitRegistry[Any] = pint.UnitRegistry(non_int_type=number)
    for currency in CURRENCIES:
        loaded.define(f"{currency} = [currency_{currency}]")
    return loaded


def check_unit(unit: str) -> None:
    """Raises UnknownUnitError."""
    _parsed(unit)


@lru_cache(maxsize=4096)
def conversion(unit: str | None, target: str | None) -> Conversion:
    """From one unit to another; None is a bare number. Raises UnknownUnitError and IncompatibleUnitsError."""
    ours, theirs = _parsed(unit), _parsed(target)
    if ours == theirs:
        return float
    try:
        if is_logarithmic(unit) or is_logarithmic(target):
            return _logarithmic(unit, target)
        zero, one = (_told(Fraction(number), ours, theirs) for number in (0, 1))
    except Exception as error:  # the library reads more than it converts, as dB/m, and says so in many ways
        raise IncompatibleUnitsError from error
    slope = one - zero
    return lambda value: _rounded(Fraction(value) * slope + zero)


def is_offset(unit: str | None) -> bool:
    """Whether its zero is none: of a scale of temperatures, of which no sum can be taken."""
    return any(not each.is_multiplicative and not each.is_logarithmic for each in _converters(unit))


def is_logarithmic(unit: str | None) -> bool:
    """Whether its numbers are exponents, so that to add them is to multiply what they say."""
    return any(each.is_logarithmic for each in _converters(unit))


@lru_cache(maxsize=4096)
def _parsed(unit: str | None, number: type = Fraction) -> Any:
    if unit is None:
        return registry(number).dimensionless
    if _UNIT.fullmatch(unit) is None:
        raise UnknownUnitError
    try:
        return registry(number).parse_units(unit)
    except Exception as error:  # whatever keeps the library from reading it: it is none
        raise UnknownUnitError from error


def _converters(unit: str | None) -> list[Any]:
    units = registry()._units
    return [units[name].converter for name in _parsed(unit)._units if name in units]


def _told(number: Any, ours: Any, theirs: Any) -> Any:
    return registry().Quantity(number, ours).to(theirs).magnitude


def _logarithmic(unit: str | None, target: str | None) -> Conversion:
    # The library takes logarithms of floats only.
    units = registry(float)
    ours, theirs = _parsed(unit, float), _parsed(target, float)
    if ours.dimensionality != theirs.dimensionality:
        raise IncompatibleUnitsError

    def told(value: float) -> float:
        if is_logarithmic(target) and not is_logarithmic(unit) and value <= 0:
            return math.nan
        with np.errstate(all="ignore"):
            return float(units.Quantity(value, ours).to(theirs).magnitude)

    told(1.0)
    return told


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
