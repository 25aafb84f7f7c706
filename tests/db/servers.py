"""What the tests of the embedded server do to it from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import psutil

ROOT = Path(__file__).parents[2]


@contextmanager
def server_folder() -> Iterator[Path]:
    """A folder for a server's data. Not one of pytest's: each run of that closes all of them to other users,
    and a server that root started is run by one.
    """
    with tempfile.TemporaryDirectory(prefix="engram-") as folder:
        yield Path(folder)


class User:
    """Another process that uses the embedded server of a data directory. Starting does not wait for it."""

    def __init__(self, data_dir: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.db.embedded_user", str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def address(self) -> str:
        """Wait until the server runs for that process."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended without a server"
        return line.strip()

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0

    def signal(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(60)


def server_process(data_dir: Path) -> psutil.Process | None:
    """The server on a data directory, whatever its files say."""
    for process in psutil.process_iter(["name", "cmdline"]):
        if process.info["name"] == "postgres" and str(data_dir / "postgres") in (process.info["cmdline"] or ()):
            return process
    return None


def eventually(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def write_as_owner(path: Path, text: str) -> None:
    """Replace a file of the server's, leaving it to the user that the server runs as."""
    owner = path.parent.stat()
    path.write_text(text)
    os.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(0o600)


async def remember(dsn: str, text: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("CREATE TABLE IF NOT EXISTS remembered (text text)")
    await connection.execute("INSERT INTO remembered VALUES ($1)", text)
    await connection.close()


async def remembered(dsn: str) -> list[str]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT text FROM remembered ORDER BY text")
    await connection.close()
    return [row["text"] for row in rows]
