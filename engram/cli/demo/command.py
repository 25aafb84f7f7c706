"""``engram demo``."""

from __future__ import annotations

from engram.cli.logs import quiet_logs
from engram.cli.options import JsonOption


def demo(as_json: JsonOption = False) -> None:
    """Show on a sample what hybrid recall finds and vector search does not. Leaves nothing behind."""
    quiet_logs()
    # All that a server needs is loaded here, which no other command should wait for.
    from engram.cli.demo.performance import perform  # noqa: PLC0415

    perform(as_json=as_json)
