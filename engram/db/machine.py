"""What the machine, or the container, has."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNKNOWN = 1024**3


def memory_bytes() -> int:
    """Memory that this process and its like may use together; 1 GiB where the system does not say."""
    known = []
    with suppress(ValueError, OSError, AttributeError):  # not every system has the names
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit in _CGROUP_LIMITS:
        with suppress(ValueError, OSError):  # no such file, or "max"
            known.append(int(limit.read_text()))
    return min((size for size in known if size > 0), default=_UNKNOWN)
