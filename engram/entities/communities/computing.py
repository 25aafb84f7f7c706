"""Communities computed in a process of their own, while the event loop goes on."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
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
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "engram.entities.communities.process", repr(tuning.hub_drop), repr(tuning.giant_share)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "OMP_NUM_THREADS": "1"},
    )
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            answer, _ = await process.communicate(given)
    except TimeoutError:
        raise CommunitiesFailed(f"took longer than {LONGEST_SECONDS:.0f} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise CommunitiesFailed(f"ended with status {process.returncode}")
    arrays = await asyncio.to_thread(unpacked, answer)
    return arrays["levels"], int(arrays["dropped"])
