"""``python -m engram.entities.communities.process HUB_DROP GIANT_SHARE``: pairs from stdin, communities to stdout.

A process of its own, because the graph library keeps the interpreter to itself while it computes; what it takes is
given back when it ends, and a server that is to stop ends it.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from engram.entities.communities.packing import packed, unpacked


def main() -> None:
    hub_drop, giant_share = (float(argument) for argument in sys.argv[1:])
    if hasattr(os, "nice"):
        os.nice(10)  # requests come first
    from engram.entities.communities.partition import Pairs, partition  # noqa: PLC0415  # takes seconds

    arrays = unpacked(sys.stdin.buffer.read())
    pairs = Pairs(arrays["first"], arrays["second"], arrays["weight"])
    found = partition(pairs, int(arrays["count"]), hub_drop=hub_drop, giant_share=giant_share)
    levels = np.array(found.levels, dtype=np.int64).reshape(len(found.levels), int(arrays["count"]))
    sys.stdout.buffer.write(packed(levels=levels, dropped=np.int64(found.dropped)))


if __name__ == "__main__":
    main()
