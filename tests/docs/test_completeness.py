"""Tables of settings, routes, fields and commands that cannot fall behind the code."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import typer.main
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from engram.audit.schemas import Action
from engram.cli.app import app
from engram.db.database import driver
from engram.entities.graph.schemas import TraverseNode, TraverseRequest
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


def test_the_entities_page_lists_every_field_of_a_walk() -> None:
    asked = set(TraverseRequest.model_fields) - {"agent_id", "seed_entity"}
    assert (asked | set(TraverseNode.model_fields)) - _fields(page("docs/entities.md")) == set()


def test_the_memories_page_lists_every_field_of_a_memory() -> None:
    assert set(MemoryItem.model_fields) - _fields(page("docs/memories.md")) == set()


def _commands() -> Iterator[tuple[str, str, set[str]]]:
    """(the section of the page that has it, its name, its options) of every command and every one of a group."""
    for name, command in typer.main.get_group(app).commands.items():
        within = getattr(command, "commands", {})
        for full, one in ({f"{name} {inner}": each for inner, each in within.items()} or {name: command}).items():
            options = {max(parameter.opts, key=len) for parameter in one.params} - {"--help"}
            yield name, full, {option for option in options if option.startswith("-")}


def test_the_command_line_page_has_every_command_and_option() -> None:
    text = page("docs/cli.md").text
    missing = []
    for section, name, options in _commands():
        found = re.search(rf"^## `engram {section}`$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        told = found[0] if found else ""
        missing += [f"{name} {option}" for option in options if f"`{option}" not in told]
        missing += [] if f"`engram {name}" in told else [name]
    assert missing == []


def test_the_page_of_keys_says_what_each_role_may_do() -> None:
    told = dict(re.findall(r"^\| `(viewer|writer|admin)` \| (.+?) \|$", page("docs/security.md").text, re.MULTILINE))
    needed: dict[str, set[str]] = {}
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items():
            if (role := operation.get("x-engram-role")) is not None:
                needed.setdefault(role, set()).add(f"{method.upper()} {path}")
    assert {role: set(re.findall(r"`([^`]+)`", text)) for role, text in told.items()} == needed


def test_the_page_of_keys_names_every_action_that_is_noted() -> None:
    cells = re.findall(r"^\|([^|]+)\|", page("docs/security.md").text, re.MULTILINE)
    assert set(re.findall(r"`([a-z]+\.[a-z]+)`", "\n".join(cells))) == {action.value for action in Action}


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
