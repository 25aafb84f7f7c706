"""``engram facts compute``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import DEFAULT_AGENT, AgentOption, AsOfOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt, one_line
from engram.facts.quantities.schemas import ComputedRow, QuantityOp

_SHOWN = 20


def compute(
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="An entity, in any spelling.")],
    attribute: Annotated[str, typer.Argument(metavar="ATTRIBUTE", help="What of it, such as price.")],
    op: Annotated[QuantityOp, typer.Option("--op", help="What is computed.")] = QuantityOp.latest,
    agent: AgentOption = DEFAULT_AGENT,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="UNIT", help="Of the answer; default: that of the latest number.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="Only what was so at this moment or later.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="Only what was so before this moment.")
    ] = None,
    as_of: AsOfOption = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute a number of an entity from what memories declare."""
    with connected(url) as client:
        found = client.facts.compute(
            agent_id(client, agent), entity, attribute, op, valid_from=since, valid_until=until, as_of=as_of, unit=unit
        )
    if as_json:
        write_json(found)
        return
    console = answers()
    if not found.found:
        console.print(Text(f"No memory gives {one_line(entity)} a number of {one_line(attribute)}.", "dim"))
        return
    console.print(Text(_told(found.value, found.unit)))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("At")
    table.add_column("Number", justify="right")
    table.add_column("Memory", style="dim")
    for row in found.rows[:_SHOWN]:
        table.add_row(row.at.strftime("%Y-%m-%d %H:%M"), Text(_written(row, found.unit)), row.memory_id)
    console.print(table)
    console.print(Text(_size(found.count, min(len(found.rows), _SHOWN)), "dim"))


def _told(value: float | None, unit: str | None) -> str:
    number = f"{value:.15g}" if value is not None else ""
    return f"{number} {excerpt(unit, 64)}" if unit is not None else number


def _written(row: ComputedRow, unit: str | None) -> str:
    told = _told(row.value, row.unit)
    return told if row.converted is None or row.unit == unit else f"{told} = {_told(row.converted, unit)}"


def _size(count: int, shown: int) -> str:
    return counted(count, "number", "numbers") + (f", {shown} of them shown" if shown < count else "")
