"""Tables of settings, routes and commands that cannot fall behind the code."""

from __future__ import annotations

import re

import typer.main
from pydantic import AliasChoices

from engram.cli.app import app
from engram.server.app import create_app
from engram.settings import Settings
from tests.docs.pages import page

_METHODS = ("get", "post", "patch", "put", "delete")


def _variables() -> set[str]:
    """The environment variable of every setting, under its shortest name."""
    found = set()
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        names = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else []
        found.add(min(names, key=len, default=f"ENGRAM_{name.upper()}"))
    return found


def test_the_settings_page_lists_every_setting_and_no_other() -> None:
    listed = {name for name in page("docs/configuration.md").rows() if re.fullmatch(r"[A-Z][A-Z_]+", name)}
    assert listed == _variables()


def test_the_settings_page_tells_every_default() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+?) \|", page("docs/configuration.md").text, re.MULTILINE))
    for name, field in Settings.model_fields.items():
        if field.default is None or field.default_factory is not None:
            continue
        variable = next(v for v in _variables() if v in (name.upper(), f"ENGRAM_{name.upper()}"))
        default = field.default
        said = rows[variable].strip("`")
        assert said == (str(default).lower() if isinstance(default, bool) else f"{default:g}" if isinstance(default, float) else str(default)), variable


def test_the_http_page_lists_every_route_and_no_other() -> None:
    routes = {
        f"{method.upper()} {path}"
        for path, operations in create_app(Settings()).openapi()["paths"].items()
        for method in operations
        if method in _METHODS
    }
    listed = {row for row in page("docs/http.md").rows() if re.match(r"[A-Z]+ /", row)}
    assert listed == routes


def test_the_command_line_page_has_every_command_and_option() -> None:
    text = page("docs/cli.md").text
    missing = []
    group = typer.main.get_group(app)
    for name, command in group.commands.items():
        section = re.search(rf"^## `engram {name}`$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if section is None:
            missing.append(name)
            continue
        options = [max(parameter.opts, key=len) for parameter in command.params if parameter.opts[0].startswith("-")]
        missing += [f"{name} {option}" for option in options if option != "--help" and f"`{option}" not in section[1]]
    assert missing == []
