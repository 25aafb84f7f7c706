"""The demo on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from engram.cli.demo.stage import Stage
from engram.cli.demo.story import Finding, Timing
from engram.cli.explained import LEGEND, ranks_in_words, score_in_words
from engram.cli.text import counted
from engram.graph.decay import HOP_PENALTY
from engram.recall.schemas import RecallHit, RecallRequest

_WATCHED = "bold green"
_WEIGHT = RecallRequest.model_fields["graph_weight"].default
_KEPT = 1 - HOP_PENALTY

_COMMANDS = """\
{0} serve  # then, in another terminal:
{0} remember "Alice leads the billing team" --subject Alice
{0} recall "Who leads billing?" --explain
{0} import chat.txt  # a transcript, or NDJSON
{0} doctor  # when something is wrong"""

_SNIPPET = """\
from engram import Engram

memories = Engram().agent("default").memories
memories.create("Alice leads the billing team", entities=["Alice"])
for hit in memories.recall("Who leads billing?"):
    print(f"{hit.score:.2f}", hit.content)"""


def show_stage(console: Console, stage: Stage) -> None:
    """What was started and loaded."""
    model = stage.services.embedder.model
    links = ", ".join(f"{count} {relation}" for relation, count in stage.links.items())
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_column()
    lines.add_row("Database", f"an embedded Postgres of its own; all was ready in {stage.starting_seconds:.1f} s")
    lines.add_row("Embedder", f"{model.provider}, {model.dimension} dimensions; no key, no LLM, no network")
    lines.add_row(
        "Memories",
        f"{len(stage.texts)} of one user over six weeks, written and linked in {stage.loading_seconds * 1000:.0f} ms",
    )
    lines.add_row("Links", f"{sum(stage.links.values())}: {links}")
    console.print(_panel(lines, "Engram"))


def show_finding(console: Console, number: int, finding: Finding, texts: Mapping[str, str]) -> None:
    """One question: both rankings side by side, then the way that led to the memory to watch, and its sum."""
    hit = finding.lifted
    assert hit.explain is not None, "the demo asks for explanations"
    console.print()
    console.print(Rule(Text(f"{number}. {finding.question.query}", "bold"), align="left", style="dim"))
    console.print(_rankings(finding))
    told = Text.assemble(
        (f"“{hit.content}”", _WATCHED),
        f" is number {finding.vector_rank} by vector and number {finding.hybrid_rank} in hybrid recall. ",
        finding.question.lesson,
    )
    console.print(told)
    console.print(Padding(_way(finding, texts), (1, 0, 0, 2)))
    if number == 1:
        console.print(Padding(LEGEND, (0, 0, 0, 2)), style="dim")
    console.print()
    console.print(Padding(f"Score: {score_in_words(hit, hit.explain, _WEIGHT)}", (0, 0, 0, 2)))
    console.print(Padding(f"Legs:  {ranks_in_words(hit.explain)}", (0, 0, 0, 2)))


def show_end(console: Console, timing: Timing, command: str) -> None:
    """Timing, and what to type next. ``command`` is what starts this program in a shell."""
    console.print()
    console.print(Rule(Text("Timing", "bold"), align="left", style="dim"))
    console.print(
        f"A recall takes {timing.hybrid_ms:.1f} ms here, by vector alone {timing.vector_ms:.1f} ms "
        f"(median of {counted(timing.runs, 'run')}, warm)."
    )
    look: dict[str, Any] = {"theme": "ansi_dark", "background_color": "default", "word_wrap": True}
    next_steps = Group(Syntax(_COMMANDS.format(command), "bash", **look), "", Syntax(_SNIPPET, "python", **look))
    console.print()
    console.print(_panel(next_steps, "What to type next"))


def _panel(content: RenderableType, title: str) -> Panel:
    return Panel(content, title=f"[bold]{title}[/bold]", title_align="left", box=box.ROUNDED, padding=(0, 1))


def _rankings(finding: Finding) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0), expand=True)
    table.add_column("#", justify="right", style="dim", width=2)
    table.add_column("", width=5)
    table.add_column("Vector alone", ratio=1)
    table.add_column("", width=5)
    table.add_column("Hybrid recall", ratio=1)
    watched = finding.lifted.id
    rows = max(finding.question.shown, finding.hybrid_rank)
    for rank, (left, right) in enumerate(zip(finding.by_vector.results[:rows], finding.hybrid.results, strict=False)):
        table.add_row(str(rank + 1), *_cells(left, watched), *_cells(right, watched))
    if finding.vector_rank > rows:
        table.add_row("⋮")
        below = finding.by_vector.results[finding.vector_rank - 1]
        table.add_row(str(finding.vector_rank), *_cells(below, watched))
    return table


def _cells(hit: RecallHit, watched: str) -> tuple[Text, Text]:
    style = _WATCHED if hit.id == watched else ""
    return Text(f"{hit.score:.3f}", style or "dim"), Text(hit.content, style)


def _way(finding: Finding, texts: Mapping[str, str]) -> Tree:
    """The walk from what the question found itself to the memory, a hop a line, with what the score becomes."""
    hit = finding.lifted
    start = hit.path[0].memory_id if hit.path else hit.id
    anchor = next(other for other in finding.hybrid.results if other.id == start)
    assert anchor.explain is not None, "the demo asks for explanations"
    by_words = anchor.lexical_score >= anchor.vector_score
    found = f"by its words ({', '.join(anchor.explain.terms)})" if by_words else "by vector"
    score = max(anchor.lexical_score, anchor.vector_score)
    root = Tree(
        Text.assemble(f"“{anchor.content}” ", (f"found {found}: ", "dim"), (f"{score:.3f}", "bold")), guide_style="dim"
    )
    node = root
    for step in hit.path[1:]:
        weight, multiplier = step.weight or 0.0, step.multiplier or 0.0
        score *= _KEPT * weight * multiplier
        name = f"{step.relation_type} {step.entity}" if step.entity else str(step.relation_type)
        node = node.add(
            Text.assemble(
                (name, "cyan"),
                f": “{texts[step.memory_id]}” ",
                (f"× {_KEPT:.2f} × {weight:.2f} × {multiplier:.2f} = ", "dim"),
                (f"{score:.3f}", "bold"),
            )
        )
    return root
