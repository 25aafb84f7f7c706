"""``engram facts``: its commands."""

from __future__ import annotations

from collections.abc import Callable

import typer

from engram.cli.entities.chain import path
from engram.cli.entities.occurring import related_entities
from engram.cli.entities.walking import traverse

app = typer.Typer(help="What occurs with what, and chains of it.", no_args_is_help=True)

_COMMANDS: dict[str, Callable[..., None]] = {
    "traverse": traverse,
    "path": path,
    "related": related_entities,
}
for name, command in _COMMANDS.items():
    app.command(name)(command)
