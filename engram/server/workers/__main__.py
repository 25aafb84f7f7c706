"""``python -m engram.server.workers CHANNEL DOOR``: one worker, as the supervisor starts it."""

import signal
import sys

# A terminal sends these to all processes at once. When this one ends is the supervisor's to say, also while it loads.
for _number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(_number, signal.SIG_IGN)

from engram.server.workers.child import main  # noqa: E402

sys.exit(main())
