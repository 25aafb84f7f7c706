"""``engram neighborhood``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import (
    AsOfOption,
    JsonOption,
    KnownAtOption,
    MinWeightOption,
    RelationOption,
    SessionOption,
    UrlOption,
    UserOption,
)
from engram.cli.output import answers, write_json
from engram.cli.remote import connected
from engram.cli.text import counted, excerpt
from engram.graph.schemas import Neighborhood


def neighborhood(
    memory_id: Annotated[str, typer.Argument(metavar="MEMORY_ID", help="As remember and recall show it.")],
    max_hops: Annotated[int, typer.Option("--max-hops", min=1, max=5, help="How far to go.")] = 2,
    max_nodes: Annotated[int, typer.Option("--max-nodes", "-n", min=1, max=500, help="At most so many memories.")] = 50,
    max_edges: Annotated[int, typer.Option("--max-edges", min=0, max=1000, help="At most so many edges.")] = 200,
    relation: RelationOption = None,
    min_weight: MinWeightOption = 0,
    user: UserOption = None,
    session: SessionOption = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what surrounds a memory, hop by hop, the strongest first."""
    with connected(url) as client:
        found = client.graph.neighborhood(
            memory_id,
            max_hops=max_hops,
            max_nodes=max_nodes,
            max_edges=max_edges,
            relation_type=relation or None,
            min_weight=min_weight,
            user_id=user,
            session_id=session,
            as_of=as_of,
            known_at=known_at,
        )
    if as_json:
        write_json(found)
        return
    console = answers()
    console.print(_table(found))
    cut = "; there are more" if found.truncated else ""
    sums = f"{counted(len(found.nodes), 'memory', 'memories')}, {counted(len(found.edges), 'edge')}{cut}"
    console.print(Text(sums, "dim"))


def _table(found: Neighborhood) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Hops", justify="right")
    table.add_column("Strength", justify="right")
    table.add_column("Edges", justify="right", style="dim")
    table.add_column("Memory", ratio=1)
    ends = [end for edge in found.edges for end in (edge.source_memory_id, edge.target_memory_id)]
    for node in found.nodes:
        memory = Text(excerpt(node.content + ("…" if node.content_truncated else ""), 200))
        memory.append(f"\n{node.id}", "dim")
        table.add_row(str(node.hops), f"{node.strength:.2f}", str(ends.count(node.id)), memory)
    return table
