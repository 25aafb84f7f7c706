"""A process that migrates a database: ``python -m tests.db.migrate_once DSN``."""

from __future__ import annotations

import asyncio
import sys

from engram.db.migrate import migrate
from engram.settings import Settings

if __name__ == "__main__":
    sys.stdout.write(asyncio.run(migrate(sys.argv[1], Settings())))
