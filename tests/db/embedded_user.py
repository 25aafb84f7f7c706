"""A process that uses an embedded Postgres: ``python -m tests.db.embedded_user DIRECTORY``.

It prints the server's address, and leaves when its input ends or SIGTERM arrives.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from engram.db.embedded import EmbeddedPostgres


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = EmbeddedPostgres.start(Path(sys.argv[1]))
    sys.stdout.write(server.dsn + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
