from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from engram.idempotency import budget
from engram.idempotency.budget import Budget

STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60), st.floats(0, 5)), max_size=60)


@given(STEPS)
def test_nobody_spends_more_than_the_limit_in_a_period(steps: list[tuple[int, int, float]]) -> None:
    now = 0.0
    known = Budget(100, 10, lambda: now)
    began: dict[int, float] = {}
    spent: dict[int, int] = defaultdict(int)
    for owner, amount, pause in steps:
        now += pause
        if owner not in began or now >= began[owner] + 10:
            began[owner], spent[owner] = now, 0
        allowed = known.allows(owner, amount)
        assert allowed == (spent[owner] + amount <= 100)
        spent[owner] += amount * allowed


def test_many_owners_take_a_bounded_memory() -> None:
    known = Budget(1, 1000)
    assert all(known.allows(owner, 1) for owner in range(budget.MAX_OWNERS * 2))
    assert len(known._spent) == budget.MAX_OWNERS
