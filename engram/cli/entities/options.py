"""Options that commands about entities share."""

from __future__ import annotations

from typing import Annotated

import typer

EntityArgument = Annotated[str, typer.Argument(metavar="ENTITY", help="An entity, in any spelling.")]
MinCoOccurOption = Annotated[
    int, typer.Option("--min-co-occur", min=1, help="Only pairs that so many memories show.", show_default=False)
]
LabeledOption = Annotated[bool, typer.Option("--labeled", help="Over triples, in place of what occurs together.")]
RelationsOption = Annotated[
    list[str] | None,
    typer.Option("--relation", "-r", metavar="NAME", help="Over triples with this predicate; may be repeated."),
]


def unknown(entity: str) -> str:
    """What is said of a name that nothing has."""
    return f"No memory names {entity}."
