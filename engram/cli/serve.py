"""``engram serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from engram.cli.configuration import load_settings
from engram.cli.options import DataDirOption


def serve(
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="ADDRESS", help="Where to listen; default: 127.0.0.1.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", "-p", min=0, max=65535, help="Default: 8080; 0 takes a free one.", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", min=1, max=64, help="Processes that answer; default: 1.", show_default=False
        ),
    ] = None,
    data_dir: DataDirOption = None,
    worker: Annotated[
        bool | None,
        typer.Option(
            "--worker/--no-worker", help="Whether jobs are done beside requests; default: yes.", show_default=False
        ),
    ] = None,
) -> None:
    """Run the server, on a Postgres of its own where none is configured."""
    settings = load_settings(host=host, port=port, workers=workers, data_dir=data_dir, worker=worker)
    # The server loads a database and an embedder, which no other command should wait for.
    from engram.server.run import serve as run_server  # noqa: PLC0415

    run_server(settings)
