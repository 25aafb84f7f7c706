"""How a score came about, in sums that a person can follow."""

from __future__ import annotations

from collections.abc import Mapping

from engram.cli.paths import in_words
from engram.recall.schemas import Explanation, RecallHit

LEGEND = "A path's score is its anchor's, of which each hop keeps (1 - hop penalty) × weight × multiplier."


def score_in_words(hit: RecallHit, explanation: Explanation, graph_weight: float) -> str:
    """``0.60 × 0.248 vector + 0.40 × 0.350 graph = 0.289``."""
    vector, graph = f"{1 - graph_weight:.2f}", f"{graph_weight:.2f}"
    sums = f"{explanation.vector_part:.3f} + {explanation.graph_part:.3f} = {hit.score:.3f}"
    return f"{vector} × {hit.vector_score:.3f} vector + {graph} × {hit.graph_score:.3f} graph = {sums}"


def graph_in_words(hit: RecallHit, explanation: Explanation) -> str:
    """``graph 0.351 = 0.381 × 0.95 × 1.00 × 0.97``: the anchor, then the three factors of each hop (see LEGEND)."""
    if explanation.anchor_score is None and hit.path:
        return f"graph {hit.graph_score:.3f} = the question names {hit.path[0].entity}, which this is about"
    if explanation.anchor_score is None:
        if hit.lexical_score == 0:
            return "graph 0: no path leads to it, and it shares no word with the question"
        return f"graph {hit.graph_score:.3f} = its own words: {', '.join(explanation.terms)}"
    kept = f"{1 - explanation.hop_penalty:.2f}"
    hops = [f"{kept} × {step.weight or 0:.2f} × {step.multiplier or 0:.2f}" for step in hit.path[1:]]
    factors = [f"{explanation.anchor_score:.3f}", *hops]
    return f"graph {hit.graph_score:.3f} = {' × '.join(factors)}"


def ranks_in_words(explanation: Explanation) -> str:
    """``rank by vector 15, by words 12 (user), by graph 4``."""
    ranks = {"vector": explanation.vector_rank, "words": explanation.lexical_rank, "graph": explanation.graph_rank}
    told = [f"by {leg} {rank if rank is not None else 'none'}" for leg, rank in ranks.items()]
    terms = f" ({', '.join(explanation.terms)})" if explanation.terms else ""
    return f"rank {told[0]}, {told[1]}{terms}, {told[2]}"


def alternatives_in_words(explanation: Explanation, texts: Mapping[str, str]) -> list[str]:
    """The weaker paths, best first."""
    return [f"also {weaker.score:.3f} via {in_words(weaker.path, texts)}" for weaker in explanation.alternatives]
