"""Tables of settings, routes, fields and commands that cannot fall behind the code."""

from __future__ import annotations

import re

import httpx
import typer.main
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from engram.cli.app import app
from engram.db.database import driver
from engram.memories.schemas import MemoryItem
from engram.recall.schemas import RecallRequest
from engram.services import Services
from engram.settings import Settings
from engram.telemetry.names import STAGES
from tests.docs.pages import Page, page
from tests.fixtures.servers import openapi

_METHODS = ("get", "post", "patch", "put", "delete")


def _variable(name: str, field: FieldInfo) -> str:
    """The environment variable of a setting, under its shortest name."""
    alias = field.validation_alias
    names = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else []
    return min(names, key=len, default=f"ENGRAM_{name.upper()}")


def _written(value: object) -> str:
    """A default as a person writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _fields(page: Page) -> set[str]:
    """All code in the first cells of a page's tables."""
    cells = re.findall(r"^\|([^|]+)\|", page.text, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", "\n".join(cells)))


def test_the_settings_page_lists_every_setting_and_no_other() -> None:
    listed = {name for name in page("docs/configuration.md").rows() if re.fullmatch(r"[A-Z][A-Z_]+", name)}
    assert listed == {_variable(name, field) for name, field in Settings.model_fields.items()}


def test_the_settings_page_tells_every_default() -> None:
    told = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+?) \|", page("docs/configuration.md").text, re.MULTILINE))
    defaults = {
        _variable(name, field): _written(field.default)
        for name, field in Settings.model_fields.items()
        if field.default is not None and field.default_factory is None
    }
    assert {variable: told[variable] for variable in defaults} == defaults


def test_the_http_page_lists_every_route_and_no_other() -> None:
    routes = {
        f"{method.upper()} {path}"
        for path, operations in openapi()["paths"].items()
        for method in operations
        if method in _METHODS
    }
    assert {row for row in page("docs/http.md").rows() if re.match(r"[A-Z]+ /", row)} == routes


def test_the_recall_page_lists_every_field_of_a_request() -> None:
    assert set(RecallRequest.model_fields) - _fields(page("docs/recall.md")) == set()


def test_the_memories_page_lists_every_field_of_a_memory() -> None:
    assert set(MemoryItem.model_fields) - _fields(page("docs/memories.md")) == set()


def test_the_command_line_page_has_every_command_and_option() -> None:
    text = page("docs/cli.md").text
    missing = []
    for name, command in typer.main.get_group(app).commands.items():
        section = re.search(rf"^## `engram {name}`$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        options = {max(parameter.opts, key=len) for parameter in command.params} - {"--help"}
        told = section[1] if section else ""
        missing += [f"{name} {option}" for option in options if option.startswith("-") and f"`{option}" not in told]
        missing += [] if section else [name]
    assert missing == []


async def test_the_observability_page_lists_every_metric_and_every_stage(
    http: httpx.AsyncClient, services: Services
) -> None:
    async with services.database.transaction() as connection:
        await driver(connection).execute("ANALYZE")
    shown = set(re.findall(r"^# TYPE (engram_\w+) ", (await http.get("/metrics")).text, re.MULTILINE))
    rows = page("docs/observability.md").rows()
    assert {row for row in rows if re.fullmatch(r"engram_\w+", row)} == shown
    told = re.findall(r"^\| (?:`(\w+)`)? *\| `(\w+)` \|", page("docs/observability.md").text, re.MULTILINE)
    operation, stages = "", set()
    for first, stage in told:
        operation = first or operation
        stages.add(f"{operation}.{stage}")
    assert stages == set(STAGES)
