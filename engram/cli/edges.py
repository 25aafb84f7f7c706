"""``engram edges``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import AsOfOption, JsonOption, KnownAtOption, MinWeightOption, RelationOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import connected, texts_of
from engram.cli.text import counted, excerpt, one_line
from engram.graph.schemas import Direction, Edge

_GONE = "(deleted meanwhile)"
_ARROWS = {Direction.out: "→", Direction.incoming: "←", Direction.both: "↔"}


def edges(
    memory_id: Annotated[str, typer.Argument(metavar="MEMORY_ID", help="As remember and recall show it.")],
    relation: RelationOption = None,
    direction: Annotated[Direction | None, typer.Option("--direction", help="Only those that run this way.")] = None,
    min_weight: MinWeightOption = 0,
    label: Annotated[str | None, typer.Option("--label", metavar="TEXT", help="Only with this label.")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", metavar="NAME", help="Only of this origin, such as asserted; may be repeated."),
    ] = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="Also those that were deleted, have ended, or have an end that has.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a memory is connected to, the strongest first."""
    with connected(url) as client:
        memory = client.memories.get(memory_id)
        listing = client.graph.get_edges(
            memory_id,
            relation_type=relation or None,
            direction=direction,
            min_weight=min_weight,
            label=label,
            origin=origin or None,
            as_of=as_of,
            known_at=known_at,
            include_invalidated=closed,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
        texts = {} if as_json else texts_of(client, (edge.target_memory_id for edge in found))
    if as_json:
        write_json({"memory_id": memory.id, "data": [edge.model_dump(mode="json") for edge in found]})
        return
    console = answers()
    console.print(Text(excerpt(memory.content, 4 * console.width), "bold"))
    if not found:
        console.print("It is not connected to anything.", style="dim")
        return
    console.print(_table(found, texts))
    console.print(Text(f"{counted(len(found), 'edge')}{', and perhaps more' if len(found) == limit else ''}", "dim"))


def _table(found: Iterable[Edge], texts: dict[str, str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Relation", no_wrap=True)
    table.add_column("")
    table.add_column("Weight", justify="right")
    table.add_column("Decay", justify="right", style="dim")
    table.add_column("Memory", ratio=1)
    for edge in found:
        other = Text(excerpt(texts.get(edge.target_memory_id, _GONE), 200))
        because = edge.entity or edge.label or edge.reason
        if because:
            other.append(f"\n{one_line(because)}", "cyan")
        if edge.invalidated_at or edge.valid_until:
            when = f"deleted {edge.invalidated_at:%F}" if edge.invalidated_at else f"until {edge.valid_until:%F}"
            other.append(f"\n{when}", "yellow")
        other.append(f"\n{edge.target_memory_id}", "dim")
        table.add_row(
            edge.relation_type.value,
            _ARROWS[edge.direction],
            f"{edge.weight:.2f}",
            f"{edge.decay_multiplier:.2f}",
            other,
        )
    return table
