"""What runs on a Postgres data directory: what its ``postmaster.pid`` says, held against the processes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

_KILL_SECONDS = 10.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Address:
    socket_dir: Path
    port: int


class Postmaster:
    """The server process of one data directory, if there is one."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._file = data / "postmaster.pid"

    def address(self) -> Address | None:
        """Where the server listens, or ``None`` if the file is missing or half-written. It may be stale."""
        lines = self._lines()
        try:
            return Address(socket_dir=Path(lines[4]), port=int(lines[3])) if lines[4] else None
        except (IndexError, ValueError):
            return None

    def is_alive(self) -> bool:
        """Whether the process named in the file lives and serves this directory: numbers are used again."""
        pid = self._pid()
        try:
            return pid is not None and self._serves(psutil.Process(pid))
        except psutil.NoSuchProcess:
            return False

    def is_gone(self, *, within: float) -> bool:
        """Whether the server ends by itself in so many seconds."""
        deadline = time.monotonic() + within
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def clear_remains(self) -> None:
        """Remove what a killed server leaves in the way of a new one. To be called only if none is alive."""
        if not self._file.exists():
            return
        orphans = [process for process in psutil.process_iter() if self._serves(process)]
        for process in orphans:
            process.kill()  # they can do nothing without their parent, but keep its shared memory in use
        psutil.wait_procs(orphans, timeout=_KILL_SECONDS)
        pid = self._pid()
        # A file that names a dead process is for Postgres to judge, which checks more. It gives up on others.
        if pid is None or psutil.pid_exists(pid):
            self._file.unlink()

    def _serves(self, process: psutil.Process) -> bool:
        try:
            # Servers and their children run inside their data directory.
            return process.name() == "postgres" and Path(process.cwd()).samefile(self._data)
        except (psutil.Error, OSError):
            return False

    def _pid(self) -> int | None:
        lines = self._lines()
        try:
            return int(lines[0])
        except (IndexError, ValueError):
            return None

    def _lines(self) -> list[str]:
        try:
            return self._file.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []
