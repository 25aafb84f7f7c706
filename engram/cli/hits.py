"""Recalled memories as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.explained import alternatives_in_words, graph_in_words, ranks_in_words, score_in_words
from engram.cli.paths import in_words
from engram.cli.text import excerpt
from engram.recall.schemas import RecallHit

TEXT_LIMIT = 400


def hits_table(hits: Sequence[RecallHit], texts: Mapping[str, str], *, graph_weight: float) -> Table:
    """One row a hit: rank, score and its legs, the memory, and the path that led to it.

    ``texts`` has the texts of the memories on the paths, by id.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", style="dim")
    for name in ("Score", "Vector", "Words", "Graph"):
        table.add_column(name, justify="right", style="bold" if name == "Score" else "")
    table.add_column("Memory", ratio=1)
    for rank, hit in enumerate(hits, start=1):
        legs = [score_text(score) for score in (hit.vector_score, hit.lexical_score, hit.graph_score)]
        memory = _memory(hit, texts, graph_weight)
        table.add_row(str(rank), f"{hit.score:.3f}", *legs, memory)
    return table


def score_text(score: float) -> Text:
    """A leg's score; nothing at all is dimmed."""
    return Text(f"{score:.3f}", "" if score > 0 else "dim")


def _memory(hit: RecallHit, texts: Mapping[str, str], graph_weight: float) -> Text:
    cell = Text(excerpt(hit.content, TEXT_LIMIT))
    if hit.hops:
        cell.append(f"\nvia {in_words(hit.path, texts)}", "cyan")
    if hit.explain is not None:
        for line in (
            score_in_words(hit, hit.explain, graph_weight),
            graph_in_words(hit, hit.explain),
            ranks_in_words(hit.explain),
            *alternatives_in_words(hit.explain, texts),
        ):
            cell.append(f"\n{line}", "yellow")
    cell.append(f"\n{hit.id}", "dim")
    return cell
