"""The server's embedded Postgres, as somebody else on the machine restarts, kills and watches it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from urllib.parse import quote

import asyncpg

from engram.db.postmaster import Postmaster
from engram.db.programs import Programs
from engram.problems import ConfigurationProblem

_POLL_SECONDS = 0.02
_AWAY_SECONDS = 120.0
_OURS = "reliability"
_AWAY = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, RuntimeError)
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'engram' AND datname = 'engram'"
_OWED = "SELECT count(DISTINCT (agent_id, memory_id)) FROM pending_projections"


class Postgres:
    def __init__(self, data_dir: Path) -> None:
        self._data = data_dir.resolve() / "postgres"
        self._programs = Programs(self._data)
        self._watching: asyncpg.Connection | None = None

    @property
    def url(self) -> str:
        """Where it listens. Raises RuntimeError where it does not run."""
        address = Postmaster(self._data).address()
        if address is None:
            raise RuntimeError(f"no Postgres runs in {self._data}")
        return f"postgresql://postgres@/engram?host={quote(str(address.socket_dir))}&port={address.port}"

    async def restart(self) -> None:
        """Restart it in order: whoever is connected is told to go."""
        options = ["--mode=fast", "--wait", "--silent", f"--log={self._data / 'server.log'}", f"--pgdata={self._data}"]
        try:
            await asyncio.to_thread(self._programs.run, "pg_ctl", "restart", *options, as_owner=True)
        except ConfigurationProblem:
            # The server's watch may have seen that it was down, and been quicker to start it.
            await self.answering()

    async def kill(self) -> None:
        """Kill its first process, and see it start again: that is for the server to do."""
        pid = int((self._data / "postmaster.pid").read_text().split(maxsplit=1)[0])
        os.kill(pid, signal.SIGKILL)
        while Postmaster(self._data).is_alive():  # noqa: ASYNC110 (it is no child of ours)
            await asyncio.sleep(_POLL_SECONDS)
        await self.answering()

    async def answering(self) -> None:
        """Wait until it answers a new connection. Raises TimeoutError after two minutes."""
        deadline = time.monotonic() + _AWAY_SECONDS
        while True:
            connection = await self._connected()
            if connection is not None:
                await connection.close()
                return
            if time.monotonic() > deadline:
                raise TimeoutError("Postgres does not come back")
            await asyncio.sleep(_POLL_SECONDS)

    async def connections(self) -> int | None:
        """How many the server holds; None while Postgres is away."""
        return await self._asked(_CONNECTIONS)

    async def owed_links(self) -> int | None:
        """How many memories wait for links; None while Postgres is away."""
        return await self._asked(_OWED)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.terminate()

    async def _asked(self, statement: str) -> int | None:
        if self._watching is None or self._watching.is_closed():
            self._watching = await self._connected()
        if self._watching is None:
            return None
        try:
            return int(await self._watching.fetchval(statement))
        except _AWAY:
            self._watching.terminate()
            return None

    async def _connected(self) -> asyncpg.Connection | None:
        try:
            return await asyncpg.connect(self.url, timeout=5, server_settings={"application_name": _OURS})
        except _AWAY:
            return None
