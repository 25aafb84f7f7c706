"""The machine: Python, and the folder of the embedded database."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from engram import __version__
from engram.cli.doctor.findings import Finding, fail, ok, warn

_OLDEST_PYTHON = (3, 11)
_GIB = 1024**3
_ENOUGH, _TOO_LITTLE = 1.0, 0.1
"""Free disk space, in GiB."""


def examine_python() -> Finding:
    detail = f"{platform.python_version()}, Engram {__version__}"
    if sys.version_info < _OLDEST_PYTHON:
        return fail("Python", detail, f"Install Python {'.'.join(map(str, _OLDEST_PYTHON))} or newer")
    return ok("Python", detail)


def examine_data_dir(folder: Path) -> list[Finding]:
    """Whether the folder can be written, or made, and how much space there is. Makes nothing."""
    folder = folder.expanduser().absolute()
    standing = next(path for path in (folder, *folder.parents) if path.exists())
    elsewhere = "Choose another folder with --data-dir or ENGRAM_DATA_DIR"
    if not standing.is_dir():
        return [fail("Data folder", f"{standing} is not a folder", elsewhere)]
    if not os.access(standing, os.W_OK | os.X_OK):
        return [fail("Data folder", f"{standing} cannot be written", f"Make it writable. {elsewhere}")]
    said = str(folder) if standing == folder else f"{folder} (not there yet; it will be made)"
    return [ok("Data folder", said), _space(standing, elsewhere)]


def _space(folder: Path, elsewhere: str) -> Finding:
    free = shutil.disk_usage(folder).free / _GIB
    detail = f"{free:,.1f} GiB free"
    if free < _TOO_LITTLE:
        return fail("Disk space", detail, f"Make room. {elsewhere}")
    return warn("Disk space", detail, "Make room") if free < _ENOUGH else ok("Disk space", detail)
