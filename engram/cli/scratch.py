"""A folder for a database that lives as long as a command."""

from __future__ import annotations

import atexit
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A folder that is gone when the command ends, however it ends, but for ``kill -9``.

    Whoever is interrupted while Postgres starts leaves stopping it to the end of the interpreter. What is registered
    there first runs last: the folder goes after the server in it.
    """
    folder = Path(tempfile.gettempdir(), prefix + secrets.token_hex(8))
    # Before there is one: an interrupt may come as soon as it is there.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield folder
    for number, handler in before.items():
        signal.signal(number, handler)
    shutil.rmtree(folder, ignore_errors=True)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)
