"""``engram paths``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.text import Text

from engram.cli.options import AsOfOption, JsonOption, KnownAtOption, MinWeightOption, RelationOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import connected, texts_of
from engram.cli.text import excerpt
from engram.graph.schemas import Direction, GraphPath, PathOrder

_ARROWS = {Direction.out: "→", Direction.incoming: "←", Direction.both: "↔"}


def paths(
    source_id: Annotated[str, typer.Argument(metavar="SOURCE_ID", help="Where paths begin.")],
    target_id: Annotated[str, typer.Argument(metavar="TARGET_ID", help="Where they end.")],
    max_hops: Annotated[int, typer.Option("--max-hops", min=1, max=5, help="Edges on a path.")] = 3,
    by: Annotated[PathOrder, typer.Option("--by", help="What comes first.")] = PathOrder.strongest,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=20, help="At most so many.")] = 5,
    relation: RelationOption = None,
    min_weight: MinWeightOption = 0,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the best paths from one memory to another."""
    with connected(url) as client:
        found = client.graph.paths(
            source_id,
            target_id,
            max_hops=max_hops,
            by=by,
            limit=limit,
            relation_type=relation or None,
            min_weight=min_weight,
            as_of=as_of,
            known_at=known_at,
        )
        texts = {} if as_json else texts_of(client, (step.memory_id for path in found.paths for step in path.steps))
    if as_json:
        write_json(found)
        return
    console = answers()
    for path in found.paths:
        console.print(_in_words(path, texts))
    if not found.paths:
        console.print(f"No path of at most {max_hops} hops leads there.", style="dim")
    if found.truncated:
        console.print("There may be others: a cap cut the search short.", style="dim")


def _in_words(path: GraphPath, texts: Mapping[str, str]) -> Text:
    """One line a memory, with the edge that leads there and the share that it keeps, before the hop penalty."""
    first, *steps = path.steps
    told = Text(f"{path.strength:.3f}", "bold")
    told.append(f"  {excerpt(texts.get(first.memory_id, first.memory_id), 160)}", "not bold")
    for step in steps:
        assert step.relation_type is not None, "every step but the first came over an edge"
        name = f"entity {excerpt(step.entity, 40)}" if step.entity else step.relation_type.value
        arrow = _ARROWS[step.direction or Direction.both]
        share = (step.weight or 0.0) * (step.multiplier or 0.0)
        told.append(f"\n       {arrow} {name} ({share:.2f}) ", "cyan not bold")
        told.append(excerpt(texts.get(step.memory_id, step.memory_id), 160), "not bold")
    return told
