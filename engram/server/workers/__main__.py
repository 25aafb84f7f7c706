"""``python -m engram.server.workers CHANNEL DOOR``: one worker, as the supervisor starts it."""

import sys

from engram.server.workers.child import main

sys.exit(main())
