"""The command line: its commands, and how each of its ends is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from typer.main import get_command

from engram import __version__
from engram.cli.audit import audit
from engram.cli.between import paths
from engram.cli.demo.command import demo
from engram.cli.doctor.command import doctor
from engram.cli.edges import edges
from engram.cli.errors import FAILED, INTERRUPTED, complaint
from engram.cli.evaluation.command import evaluate
from engram.cli.export import export_agent
from engram.cli.facts.app import app as facts_app
from engram.cli.forget import forget
from engram.cli.importing.command import import_file
from engram.cli.jobs import app as jobs_app
from engram.cli.jobs import rebuild_links
from engram.cli.keys import app as keys_app
from engram.cli.logs import debugging
from engram.cli.memories import memories
from engram.cli.migrate import migrate
from engram.cli.neighborhood import neighborhood
from engram.cli.output import abandon, tolerate_any_text, write_error
from engram.cli.recall import recall
from engram.cli.remember import remember
from engram.cli.serve import serve
from engram.cli.tenants import app as tenants_app
from engram.cli.text import one_line
from engram.cli.worker import worker

app = typer.Typer(
    name="engram",
    help="Memory for AI agents: vector and graph recall on Postgres, explained.",
    epilog="Start with: engram demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Server": {"serve": serve, "worker": worker, "migrate": migrate, "doctor": doctor, "demo": demo},
    "Memories": {
        "remember": remember,
        "recall": recall,
        "memories": memories,
        "forget": forget,
        "export": export_agent,
        "import": import_file,
    },
    "Graph": {"edges": edges, "neighborhood": neighborhood, "paths": paths},
    "Work": {"rebuild-links": rebuild_links},
    "Quality": {"eval": evaluate},
    "Access": {"audit": audit},
}
_GROUPS = {
    "facts": ("Graph", facts_app),
    "jobs": ("Work", jobs_app),
    "keys": ("Access", keys_app),
    "tenants": ("Access", tenants_app),
}
for panel, commands in _COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
for name, (panel, group) in _GROUPS.items():
    app.add_typer(group, name=name, rich_help_panel=panel)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"engram {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def engram(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and give its exit status. Errors become one line on stderr; nothing is raised.

    With ``ENGRAM_DEBUG=1`` an error is raised as it is.
    """
    tolerate_any_text()
    try:
        status = get_command(app).main(args=arguments, prog_name="engram", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except typer.TyperException as error:
        write_error(f"{one_line(error.format_message()).rstrip('.')} (help: {_help_of(error)})")
        return error.exit_code
    except Exception as error:
        if debugging():
            raise
        write_error(complaint(error))
        return FAILED
    return status or 0


def _help_of(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context is not None else 'engram'} --help"
