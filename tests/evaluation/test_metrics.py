"""Metrics against values worked out by hand, and what must hold for any ranking."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.evaluation.metrics import measure, metric_names, primary_metric

KS = [1, 3, 10]


def values(ranking: list[str], gold: set[str], ks: list[int] = KS) -> dict[str, float]:
    measured = measure({"q": ranking}, {"q": frozenset(gold)}, ks)
    return dict(zip(measured.metrics, measured.values[0], strict=True))


def test_a_ranking_worked_out_by_hand() -> None:
    found = values(["x", "a", "y", "b", "z"], {"a", "b", "c"})
    assert found == {
        "recall@1": 0,
        "recall@3": pytest.approx(1 / 3),
        "recall@10": pytest.approx(2 / 3),
        "hit@1": 0,
        "hit@3": 1,
        "hit@10": 1,
        "all@1": 0,
        "all@3": 0,
        "all@10": 0,
        "MRR@10": 0.5,
        "nDCG@10": pytest.approx(
            (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)), abs=1e-6
        ),
    }


def test_beyond_ten_there_is_no_reciprocal_rank_and_no_gain() -> None:
    found = values([*"0123456789", "a"], {"a"}, [5, 20])
    assert (found["recall@20"], found["hit@20"], found["all@20"]) == (1, 1, 1)
    assert (found["recall@5"], found["MRR@10"], found["nDCG@10"]) == (0, 0, 0)


def test_ranks_decide_and_not_ids() -> None:
    assert values(["b", "a"], {"b"})["recall@1"] == 1
    assert values(["a", "b"], {"b"})["recall@1"] == 0


def test_a_question_that_found_nothing_counts_as_zero() -> None:
    measured = measure({"p": ["a"], "q": []}, {"p": frozenset("a"), "q": frozenset("a"), "r": frozenset("a")}, [1])
    assert measured.questions == ["p", "q", "r"]
    assert measured.of("recall@1").tolist() == [1, 0, 0]
    assert measured.of("MRR@10").tolist() == [1, 0, 0]


def test_where_there_is_place_for_one() -> None:
    assert primary_metric([1, 5, 10]) == "recall@5"
    assert primary_metric([1, 3, 20]) == "recall@3"


ids = st.text("abcdefghij", min_size=1, max_size=1)
cases = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.tuples(st.lists(ids, unique=True, max_size=10), st.frozensets(ids, min_size=1, max_size=4)),
    min_size=1,
)


@given(cases)
@settings(max_examples=60, deadline=None)
def test_what_holds_for_any_ranking(case: dict[str, tuple[list[str], frozenset[str]]]) -> None:
    ks = [1, 2, 5, 10]
    measured = measure(
        {id: ranking for id, (ranking, _) in case.items()}, {id: gold for id, (_, gold) in case.items()}, ks
    )
    assert list(measured.metrics) == metric_names(ks)
    assert ((measured.values >= 0) & (measured.values <= 1)).all()
    for kind in ("recall", "hit", "all"):
        at = np.stack([measured.of(f"{kind}@{k}") for k in ks])
        assert (np.diff(at, axis=0) >= 0).all()
    for k in ks:
        assert (measured.of(f"hit@{k}") >= measured.of(f"recall@{k}")).all()
        assert (measured.of(f"recall@{k}") >= measured.of(f"all@{k}")).all()
    for row, (ranking, gold) in enumerate(case.values()):
        for k in ks:
            assert measured.of(f"recall@{k}")[row] == pytest.approx(len(gold & set(ranking[:k])) / len(gold))
        ranks = [rank for rank, id in enumerate(ranking, start=1) if id in gold]
        assert measured.of("MRR@10")[row] == pytest.approx(1 / ranks[0] if ranks else 0)
