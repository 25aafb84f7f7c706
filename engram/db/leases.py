"""Who uses a shared directory, by file locks: the kernel drops them when a process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engram.problems import UnavailableProblem

_POLL_SECONDS = 0.05


class Lease:
    """A share in something that several processes use, until ``release`` or the end of the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def release(self) -> bool:
        """Give the share up. Whether it was the last; to be called inside ``exclusive``, to stay true."""
        if self._file.closed:
            return False
        with self._file:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True


@contextmanager
def exclusive(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold a file's lock alone. Waits ``timeout`` seconds for other threads and processes to let go of it.

    Raises ``UnavailableProblem`` if they do not.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise UnavailableProblem(f"Another process holds {path} for too long.") from None
                time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)
