"""Communities computed in a process of their own, while the event loop goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram.entities.communities.packing import packed, unpacked
from engram.problems import ConfigurationProblem

LONGEST_SECONDS = 900.0

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
"""Of the environment: no setting of the server, and so no secret, is passed on."""


class CommunitiesFailed(Exception):
    """The process that computes communities ended without any, or took too long."""


@dataclass(frozen=True, slots=True)
class CommunityTuning:
    """Shares, 0 to 1: of the entities that are left out as hubs at first, and of what one community may hold."""

    hub_drop: float
    giant_share: float


def check_library() -> None:
    """Raises ConfigurationProblem where the graph library is missing."""
    if find_spec("networkit") is None:
        raise ConfigurationProblem(
            "ENGRAM_ENTITY_COMMUNITIES=true needs a library that is not there. "
            "Install it: pip install 'engram[server,communities]'"
        )


async def computed(
    first: NDArray[Any], second: NDArray[Any], weight: NDArray[Any], count: int, tuning: CommunityTuning
) -> tuple[NDArray[np.int64], int]:
    """A row for each level, the finest first: for each node the strongest member of its community, -1 where it has
    none. And how many nodes were left out as hubs. Raises CommunitiesFailed."""
    given = await asyncio.to_thread(packed, first=first, second=second, weight=weight, count=np.int64(count))
    answer = await _answered(_Computing(tuning), given)
    arrays = await asyncio.to_thread(unpacked, answer)
    return arrays["levels"], int(arrays["dropped"])


async def _answered(computing: _Computing, given: bytes) -> bytes:
    """What the process answers. It has ended by the end, whatever happens meanwhile."""
    with ThreadPoolExecutor(1, thread_name_prefix="communities") as pool:
        work = asyncio.get_running_loop().run_in_executor(pool, computing.run, given)
        try:
            return await asyncio.shield(work)
        finally:
            if not work.done():
                await asyncio.to_thread(computing.stop)
                await asyncio.gather(work, return_exceptions=True)


class _Computing:
    """One process, begun and waited for in a thread: to begin it, the event loop would stand still while the memory of
    the server is mapped anew, a tenth of a second on a busy machine."""

    def __init__(self, tuning: CommunityTuning) -> None:
        self._tuning = tuning
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._beginning = Lock()

    def run(self, given: bytes) -> bytes:
        """What it answers. Raises CommunitiesFailed."""
        with self._begun() as process:
            try:
                answer, _ = process.communicate(given, timeout=LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                raise CommunitiesFailed(f"took longer than {LONGEST_SECONDS:.0f} seconds") from None
            finally:
                process.kill()
        if process.returncode:
            raise CommunitiesFailed(f"ended with status {process.returncode}")
        return answer

    def stop(self) -> None:
        """End it, or have it not begin."""
        with self._beginning:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _begun(self) -> subprocess.Popen[bytes]:
        tuning = self._tuning
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = os.pathsep.join(path for path in sys.path if path)
        with self._beginning:
            if self._stopped:
                raise CommunitiesFailed("was stopped")
            self._process = subprocess.Popen(  # noqa: S603  # of ourselves, with two numbers
                [
                    sys.executable,
                    "-P",  # no package of the folder where the server was started
                    *("-m", "engram.entities.communities.process", repr(tuning.hub_drop), repr(tuning.giant_share)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**environment, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            )
            return self._process
