"""The entry point ``engram``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (``sys.argv`` where none is given); the exit status: 0 done, 1 failed, 2 usage."""
    try:
        # The SDK is installed alone by many: it brings this script, but not what the script needs.
        from engram.cli.app import run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "engram":
            raise
        sys.stderr.write(
            f"engram: the command line needs {error.name}, which is not installed: pip install 'engram[server]'\n"
        )
        return 1
    return run(arguments)
