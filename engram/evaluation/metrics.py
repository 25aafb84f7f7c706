"""How good one ranking is: measures of information retrieval, per question. Pure.

All but all@k are computed by ir-measures, on trec_eval: recall@k is the share of a question's gold in the first k;
hit@k is 1 where any of it is there (success@k); MRR@10 is 1 over the rank of the first, 0 beyond 10; nDCG@10 is that of
Järvelin and Kekäläinen (2002), with gain 1 for gold, discounted by ``log2(rank + 1)``. all@k is 1 where all gold is
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
from ir_measures import RR, R, Success, nDCG
from numpy.typing import NDArray

DEPTH = 10
"""Where MRR and nDCG end."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """``values`` has shape (questions, metrics), each in [0, 1]; rows are in the order of ``questions``."""

    questions: Sequence[str]
    metrics: Sequence[str]
    values: NDArray[np.float64]

    def of(self, metric: str) -> NDArray[np.float64]:
        """The values of one metric, shape (questions,)."""
        column: NDArray[np.float64] = self.values[:, list(self.metrics).index(metric)]
        return column


def metric_names(ks: Sequence[int]) -> list[str]:
    names = [f"{kind}@{k}" for kind in ("recall", "hit", "all") for k in ks]
    return [*names, f"MRR@{DEPTH}", f"nDCG@{DEPTH}"]


def primary_metric(ks: Sequence[int]) -> str:
    """The one that is shown where there is place for one: recall@5, or at the middle of other depths."""
    return f"recall@{5 if 5 in ks else sorted(ks)[len(ks) // 2]}"


def measure(rankings: Mapping[str, Sequence[str]], gold: Mapping[str, frozenset[str]], ks: Sequence[int]) -> Measured:
    """Metrics of rankings, best first, of at least ``max(ks)`` and ``DEPTH`` hits where there are so many.

    ``gold`` is not empty for any question; a question without a ranking found nothing.
    """
    names = metric_names(ks)
    rows = {id: row for row, id in enumerate(gold)}
    columns = {name: column for column, name in enumerate(names)}
    values = np.zeros((len(rows), len(names)))
    measures = {RR @ DEPTH: f"MRR@{DEPTH}", nDCG @ DEPTH: f"nDCG@{DEPTH}"}
    for k in ks:
        measures |= {R @ k: f"recall@{k}", Success @ k: f"hit@{k}"}
    relevant = {id: dict.fromkeys(sorted(ids), 1) for id, ids in gold.items()}
    found = {id: _scores(rankings.get(id, ())) for id in gold}
    for result in ir_measures.iter_calc(list(measures), relevant, found):
        values[rows[result.query_id], columns[measures[result.measure]]] = result.value
    for k in ks:
        # As counts: a recall that was rounded on the way must not decide.
        values[:, columns[f"all@{k}"]] = [gold[id] <= set(rankings.get(id, ())[:k]) for id in rows]
    return Measured(list(rows), names, values)


def _scores(ranking: Sequence[str]) -> dict[str, float]:
    """Scores that fall by rank: trec_eval sorts by them, and would break ties by id."""
    return {id: float(len(ranking) - place) for place, id in enumerate(ranking)}
