"""``engram tenants``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich import box
from rich.table import Table

from engram.cli.errors import CommandError, faults
from engram.cli.operator import as_operator
from engram.cli.options import DataDirOption, JsonOption
from engram.cli.output import answers, write_json
from engram.cli.text import counted, one_line
from engram.tenants.schemas import Tenant, TenantDeleted
from engram.wire import Name

if TYPE_CHECKING:
    from engram.tenants.service import OperatorService

app = typer.Typer(help="Tenants: whose memories are kept apart.", no_args_is_help=True)

_NAME: TypeAdapter[str] = TypeAdapter(Name)


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a tenant. Its keys: engram keys create --tenant NAME --role admin."""
    try:
        checked = _NAME.validate_python(name)
    except ValidationError as error:
        raise CommandError(f"the name {faults(error)[0].message}") from None

    async def work(operator: OperatorService) -> Tenant:
        return await operator.create_tenant(checked)

    made = as_operator(work, data_dir)
    if as_json:
        write_json(made)
    else:
        answers().print(f"The tenant {made.name!r} is there, with the id {made.id}.", markup=False)


@app.command("list")
def list_tenants(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Show tenants, with how many agents and valid keys each has."""

    async def work(operator: OperatorService) -> list[Tenant]:
        return await operator.tenants()

    tenants = as_operator(work, data_dir)
    if as_json:
        write_json([tenant.model_dump(mode="json") for tenant in tenants])
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in ("Tenant", "Agents", "Keys", "Id"):
        table.add_column(column)
    for tenant in tenants:
        table.add_row(tenant.name, str(tenant.agents), str(tenant.keys), tenant.id)
    answers().print(table)


@app.command("delete")
def delete(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a tenant for good: its agents, their memories, its keys, and its audit log."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter(
                "say it where nobody can be asked: nothing brings a tenant back", param_hint="--yes"
            )
        typer.confirm(
            f"Erase the tenant {one_line(name)!r} with its agents, memories, keys and audit log, for good?",
            abort=True,
            err=True,
        )

    async def work(operator: OperatorService) -> TenantDeleted:
        return await operator.delete_tenant(name)

    gone = as_operator(work, data_dir)
    if as_json:
        write_json(gone)
    else:
        answers().print(f"The tenant {gone.name!r} is erased, with {counted(gone.agents, 'agent')}.", markup=False)
