"""Logs of commands that are not a server: only what a person should know."""

from __future__ import annotations

import os

from engram.logs import configure_logging
from engram.settings import Settings


def quiet_logs() -> None:
    """Warnings and worse, on stderr; with ``ENGRAM_DEBUG=1`` everything."""
    # Not from the environment: a server's settings may be what is wrong.
    configure_logging(Settings.model_construct(log_level="debug" if debugging() else "warning", log_format="console"))


def debugging() -> bool:
    """Whether ``ENGRAM_DEBUG`` asks for tracebacks and all logs."""
    return os.environ.get("ENGRAM_DEBUG", "").strip().lower() not in ("", "0", "false", "no")
