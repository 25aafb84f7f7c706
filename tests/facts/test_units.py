"""Units, and what is computed in them, beside arithmetic of fractions."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.facts.quantities.computing import Computing, Row, UncomputableError
from engram.facts.quantities.schemas import QuantityOp
from engram.facts.quantities.units import (
    CURRENCIES,
    IncompatibleUnitsError,
    UnknownUnitError,
    check_unit,
    conversion,
    registry,
)

LENGTHS = {"m": Fraction(1), "km": Fraction(1000), "inch": Fraction(254, 10000), "mile": Fraction(1609344, 1000)}
"""Each in metres."""
HEAT = {
    "K": (Fraction(1), Fraction(0)),
    "degC": (Fraction(1), Fraction(27315, 100)),
    "degF": (Fraction(5, 9), Fraction(45967, 100) * Fraction(5, 9)),
}
"""Each in kelvin: so much for one, and from there."""

numbers = st.floats(-1e9, 1e9, allow_nan=False)


@settings(deadline=None)
@given(numbers, st.sampled_from([*HEAT]), st.sampled_from([*HEAT]))
def test_temperatures_convert_as_fractions_do(value: float, unit: str, target: str) -> None:
    (scale, zero), (to_scale, to_zero) = HEAT[unit], HEAT[target]
    assert conversion(unit, target)(value) == float((Fraction(value) * scale + zero - to_zero) / to_scale)


@settings(deadline=None)
@given(
    st.lists(st.tuples(numbers, st.sampled_from([*LENGTHS])), min_size=1, max_size=30),
    st.sampled_from([*LENGTHS]),
    st.randoms(use_true_random=False),
)
def test_what_is_computed_is_what_fractions_say_in_whatever_order_it_is_read(
    measured: list[tuple[float, str]], target: str, random: Any
) -> None:
    rows = [
        Row(UUID(int=n), UUID(int=n), value, unit, datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=n))
        for n, (value, unit) in enumerate(measured)
    ]
    exact = [Fraction(value) * LENGTHS[unit] / LENGTHS[target] for value, unit in measured]
    wanted = {
        QuantityOp.latest: exact[0],
        QuantityOp.sum: sum(exact),
        QuantityOp.min: min(exact),
        QuantityOp.max: max(exact),
        QuantityOp.avg: sum(exact) / len(exact),
        QuantityOp.count: Fraction(len(exact)),
    }
    tolerance = float(sum(map(abs, exact))) * 1e-15
    for op, value in wanted.items():
        computing = Computing(op, target, converts=True)
        computing.add(rows)
        assert math.isclose(computing.value() or 0.0, float(value), rel_tol=1e-15, abs_tol=tolerance)
        if op is not QuantityOp.latest:
            again = Computing(op, target, converts=True)
            for row in random.sample(rows, len(rows)):
                again.add([row])
            assert again.value() == computing.value()


@pytest.mark.parametrize("unit", ["km/h", "m²", "m^2", "kg*m/s**2", "s⁻¹", "1/s", "°C", "%", "µg", "GB", "kEUR/month"])
def test_units_are_known_as_they_are_written(unit: str) -> None:
    check_unit(unit)
    assert conversion(unit, unit)(1.5) == 1.5


@pytest.mark.parametrize(
    "unit",
    ["", "m/", "3 m", "9**9**9", "m**999", "widgets", "kdegC", "(m)", "m if s", "__import__('os')", "m;s", "m\u2029s"],
)
def test_what_is_no_unit_is_not_read_as_one(unit: str) -> None:
    with pytest.raises(UnknownUnitError):
        check_unit(unit)


def test_amounts_and_exponents() -> None:
    assert conversion("mW", "dBm")(100) == pytest.approx(20)
    assert conversion("dBm", "mW")(20) == pytest.approx(100)
    assert not math.isfinite(conversion("mW", "dBm")(-1))
    with pytest.raises(UncomputableError, match="logarithmic"):
        Computing(QuantityOp.avg, "dBm", converts=True)
    for unit, target in (("dBm", "m"), ("degC", "delta_degC"), ("EUR", "USD"), (None, "m")):
        with pytest.raises(IncompatibleUnitsError):
            conversion(unit, target)


@pytest.mark.parametrize("unit", ["dB/m", "dBm/Hz", "dB^2", "octave/s"])
def test_what_is_made_of_exponents_is_itself_alone(unit: str) -> None:
    check_unit(unit)
    assert conversion(unit, unit)(1.5) == 1.5
    for other in (None, "m", "dB", "dBm", "mW", "degC", "Np/m"):
        for one, target in ((unit, other), (other, unit)):
            with pytest.raises(IncompatibleUnitsError):
                conversion(one, target)


def test_no_currency_takes_the_name_of_a_unit() -> None:
    import pint

    known = pint.UnitRegistry()
    assert [currency for currency in CURRENCIES if currency in known] == []
    assert registry() is registry()
