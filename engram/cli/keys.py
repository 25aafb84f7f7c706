"""``engram keys``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich import box
from rich.table import Table

from engram.cli.errors import CommandError, faults
from engram.cli.operator import as_operator
from engram.cli.options import DataDirOption, JsonOption
from engram.cli.output import answers, messages, write_json
from engram.tenants.roles import Role
from engram.tenants.schemas import Key, KeyCreate, KeyCreated
from engram.wire import Instant

if TYPE_CHECKING:
    from engram.tenants.service import OperatorService

app = typer.Typer(help="API keys: who may read, write and administer.", no_args_is_help=True)

TenantOption = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose key it is.")]

_SPAN = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_INSTANT: TypeAdapter[datetime] = TypeAdapter(Instant)


@app.command("create")
def create(
    role: Annotated[Role, typer.Option("--role", help="viewer reads, writer writes too, admin administers too.")],
    tenant: TenantOption = "default",
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="NAME", help="Only for this agent, by name or id.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="TEXT", help="What the key is for.")] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="WHEN", help="A date, or a time from now: 12h, 90d, 4w.")
    ] = None,
    rate_limit: Annotated[
        str | None, typer.Option("--rate-limit", metavar="RATE", help="Such as 600/minute; default: the server's.")
    ] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key, and print it: once, here. From the first one on the server asks everybody for a key."""
    try:
        request = KeyCreate(
            role=role,
            tenant=tenant,
            agent=agent,
            name=name,
            expires_at=_moment(expires) if expires is not None else None,
            rate_limit=rate_limit,
        )
    except ValidationError as error:
        wrong = "; ".join(f"--{fault.field.replace('_', '-')}: {fault.message}" for fault in faults(error))
        raise CommandError(wrong) from None

    async def work(operator: OperatorService) -> KeyCreated:
        return await operator.create_key(request)

    made = as_operator(work, data_dir)
    if as_json:
        write_json(made)
        return
    messages().print(
        f"A key for the tenant {made.tenant!r}, as {made.role.value}. It is not shown again:", markup=False
    )
    answers().print(made.key, markup=False, soft_wrap=True)


@app.command("list")
def list_keys(
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Only this tenant's.")] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show keys by how they begin, the latest first; revoked ones too."""

    async def work(operator: OperatorService) -> list[Key]:
        return await operator.keys(tenant)

    keys = as_operator(work, data_dir)
    if as_json:
        write_json([key.model_dump(mode="json") for key in keys])
        return
    if not keys:
        messages().print("There are no keys: only this machine can connect. Make one: engram keys create --role admin")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Key", no_wrap=True)
    for column in ("Tenant", "Role", "Agent", "Name", "Created", "Last used", "State"):
        table.add_column(column)
    now = datetime.now(UTC)
    for key in keys:
        agent = key.agent or key.agent_id or ""
        table.add_row(
            f"{key.prefix}…",
            key.tenant,
            key.role.value,
            agent,
            key.name or "",
            _day(key.created_at),
            _day(key.last_used_at),
            _state(key, now),
        )
    answers().print(table)


@app.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(metavar="PREFIX_OR_ID", help="As list shows it; a whole key will do too.")],
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a key, at once and everywhere."""
    from engram.tenants.keys import is_key, prefix_of  # noqa: PLC0415

    named = prefix_of(key) if is_key(key) else key.rstrip("…")

    async def work(operator: OperatorService) -> str:
        return await operator.revoke(named)

    prefix = as_operator(work, data_dir)
    if as_json:
        write_json({"revoked": prefix})
    else:
        answers().print(f"The key {prefix}… is revoked.", markup=False)


def _moment(text: str) -> datetime:
    span = _SPAN.fullmatch(text.strip())
    if span is not None:
        return datetime.now(UTC) + timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        return _INSTANT.validate_python(text)
    except ValidationError:
        raise CommandError(f"--expires: {text!r} is neither a date such as 2027-01-31 nor a time such as 90d") from None


def _day(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment is not None else "never"


def _state(key: Key, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is not None:
        return "expired" if key.expires_at <= now else f"until {_day(key.expires_at)}"
    return "valid"
