"""``engram keys``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.errors import CommandError, faults
from engram.cli.operator import as_operator
from engram.cli.options import DataDirOption, JsonOption
from engram.cli.output import answers, messages, write_json
from engram.cli.text import one_line
from engram.tenants.roles import Role
from engram.tenants.schemas import Key, KeyCreate, KeyCreated
from engram.wire import Instant

if TYPE_CHECKING:
    from engram.tenants.service import OperatorService

app = typer.Typer(help="API keys: who may read, write and administer.", no_args_is_help=True)

TenantOption = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose key it is.")]

_NONE = "There are no keys: only this machine can connect. Make one: engram keys create --role admin"
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
    until = f", until {made.expires_at:%Y-%m-%d %H:%M} UTC" if made.expires_at is not None else ""
    only = f", for its agent {agent!r} alone" if agent is not None else ""
    messages().print(
        one_line(f"A key for the tenant {made.tenant!r}{only}, as {made.role.value}{until}. It is not shown again:"),
        markup=False,
        soft_wrap=True,
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
        messages().print(
            _NONE if tenant is None else f"The tenant {tenant!r} has no keys.", markup=False, soft_wrap=True
        )
        return
    answers().print(_table(keys, datetime.now(UTC), everybody=tenant is None))


@app.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(metavar="PREFIX_OR_ID", help="As list shows it; a whole key will do too.")],
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a key, at once and everywhere."""

    async def work(operator: OperatorService) -> tuple[str, list[Key]]:
        return await operator.revoke(key.rstrip("…")), await operator.keys(None)

    prefix, keys = as_operator(work, data_dir)
    if as_json:
        write_json({"revoked": prefix})
    else:
        answers().print(f"The key {prefix}… is revoked.", markup=False)
    now = datetime.now(UTC)
    if not any(key.revoked_at is None and (key.expires_at is None or key.expires_at > now) for key in keys):
        messages().print(
            "It was the last that opened anything: nobody can connect until engram keys create makes another.",
            markup=False,
            soft_wrap=True,
        )


def _moment(text: str) -> datetime:
    """When a key ends, as ``--expires`` says it. Raises CommandError for what is no time, or past."""
    now = datetime.now(UTC)
    span = _SPAN.fullmatch(text.strip())
    if span is not None:
        moment = now + timedelta(**{_UNITS[span[2]]: int(span[1])})
    else:
        try:
            moment = _INSTANT.validate_python(text)
        except ValidationError:
            wrong = f"--expires: {text!r} is neither a date such as 2027-01-31 nor a time from now such as 12h, 90d, 4w"
            raise CommandError(wrong) from None
    if moment <= now:
        raise CommandError(f"--expires: {text!r} is past: the key would open nothing")
    return moment


def _table(keys: Iterable[Key], now: datetime, *, everybody: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Key", no_wrap=True)
    table.add_column("Role", no_wrap=True)
    table.add_column("State", no_wrap=True)
    table.add_column("Last used (UTC)", no_wrap=True)
    table.add_column("Opens" if everybody else "Agent", overflow="fold")
    for key in keys:
        agent = key.agent or key.agent_id
        opens = [key.tenant] * everybody + [f"agent {agent}" if everybody else agent] * (agent is not None)
        told = Text(one_line(", ".join(map(str, opens))))
        if key.name:
            told.append(f"\n{one_line(key.name)}" if opens else one_line(key.name), "dim")
        state, style = _state(key, now)
        table.add_row(
            f"{key.prefix}…",
            key.role.value,
            Text(state, style),
            f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at is not None else "never",
            told,
        )
    return table


def _state(key: Key, now: datetime) -> tuple[str, str]:
    """What a key is good for, and its colour."""
    if key.revoked_at is not None:
        return "revoked", "dim"
    if key.expires_at is None:
        return "valid", "green"
    if key.expires_at <= now:
        return "expired", "dim"
    return f"until {key.expires_at:%Y-%m-%d}", "green"
