"""How values of one relation end each other, held against a definition that looks at every pair."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from engram.facts.ontology.cardinalities import Cardinalities
from engram.facts.ontology.schemas import Cardinality
from engram.facts.schemas import ClosurePolicy
from engram.facts.statements.cardinality import Value, ends

START = datetime(2024, 1, 1, tzinfo=UTC)

moments = st.integers(0, 12 * 24).map(lambda hours: START + timedelta(hours=hours))


@st.composite
def slots(draw: st.DrawFn) -> list[Value]:
    values = []
    for number in range(draw(st.integers(0, 9))):
        begins = draw(moments)
        stated = draw(st.none() | st.integers(0, 100).map(lambda hours: begins + timedelta(hours=hours)))  # noqa: B023
        values.append(
            Value(
                id=UUID(int=number + 1),
                entity=UUID(int=draw(st.integers(1, 3))),
                valid_from=begins,
                stated_until=stated if draw(st.booleans()) else None,
                held_until=draw(st.none() | moments),
                arrived_at=START + timedelta(microseconds=draw(st.integers(0, 3))),
                memory_id=UUID(int=draw(st.integers(1, 3))),
                ordinal=number,
                one=draw(st.integers(0, 4)) > 0,
            )
        )
    return values


def newer(value: Value, other: Value) -> bool:
    day, others = value.valid_from.date(), other.valid_from.date()
    arrival = (value.arrived_at, value.memory_id, value.ordinal)
    return others > day or (others == day and (other.arrived_at, other.memory_id, other.ordinal) > arrival)


def expected(value: Value, values: Sequence[Value]) -> datetime | None:
    bounds = []
    if value.stated_until is not None:
        bounds.append(value.stated_until)
    elif value.one:
        later = [other for other in values if other.one and other.entity != value.entity and newer(value, other)]
        first = next((one for one in later if not any(newer(other, one) for other in later)), None)
        bounds += [max(first.valid_from, value.valid_from)] if first is not None else []
    if value.held_until is not None:
        bounds.append(max(value.held_until, value.valid_from))
    return min(bounds, default=None)


@given(slots())
def test_each_value_ends_where_the_next_other_one_starts(values: list[Value]) -> None:
    found = ends(values)
    assert {id: end.until for id, end in found.items()} == {value.id: expected(value, values) for value in values}
    assert found == ends(reversed(values))


@given(slots())
def test_what_is_open_for_lack_of_a_newer_value_is_one_value(values: list[Value]) -> None:
    found = ends(values)
    current = {value.entity for value in values if value.one and found[value.id].until is None}
    assert len(current) <= 1
    assert all((end.policy is ClosurePolicy.cardinality) == (end.superseded_by is not None) for end in found.values())


@given(slots(), st.data())
def test_values_that_ended_before_the_day_need_not_be_known(values: list[Value], data: st.DataObject) -> None:
    if not values:
        return
    day = data.draw(st.sampled_from(values)).valid_from.replace(hour=0)
    found = ends(values)
    late = [value for value in values if (end := found[value.id].until) is None or end >= day]
    left = ends(late)
    assert left == {value.id: found[value.id] for value in late}


def test_names_go_before_tenses_and_an_ontology_before_what_is_built_in() -> None:
    plain = Cardinalities()
    assert all(map(plain.one, ("works_at", "employed_by", "employer", "lives_in", "located_in", "location")))
    assert all(map(plain.one, ("worked_at", "lived_in", "was_located_in", "was_employed_by")))
    assert not any(map(plain.one, ("depends_on", "works_for", "likes")))
    assert plain.past("lived_in")
    assert plain.past("was_located_in")
    # These look like the past, and are what is: employed by, located in.
    assert not plain.past("employed_by")
    assert not plain.past("located_in")
    other = Cardinalities({"lives_in": Cardinality.many, "manages": Cardinality.one})
    assert (other.one("lives_in"), other.one("lived_in"), other.one("managed")) == (False, False, True)
    assert other.outside(["managed", "lives_in", "likes"]) == ["likes"]
    assert plain.outside(["likes"]) == []
