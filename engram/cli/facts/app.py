"""``engram facts``: its commands."""

from __future__ import annotations

from collections.abc import Callable

import typer

from engram.cli.entities.computing import compute

app = typer.Typer(help="What is computed from what memories say of entities.", no_args_is_help=True)

_COMMANDS: dict[str, Callable[..., None]] = {
    "compute": compute,
}
for name, command in _COMMANDS.items():
    app.command(name)(command)
