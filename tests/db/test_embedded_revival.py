"""The embedded server that dies alone, under a process that goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from engram.agents.schemas import AgentCreate
from engram.db import owner
from engram.problems import UnavailableProblem
from engram.services import open_services
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.db.servers import server_folder


def postmaster_of(folder: Path) -> int | None:
    try:
        return int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


async def test_it_is_started_again_with_the_same_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "WATCH_SECONDS", 0.2)
    with server_folder() as folder:
        async with open_services(Settings(data_dir=Path(folder))) as services:
            agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="before"))
            killed = postmaster_of(folder)
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            found = None
            async with asyncio.timeout(60):
                # What serves a connection lives on for a moment, and may answer before another server has started.
                while found is None or postmaster_of(folder) in (None, killed):
                    try:
                        found = await services.agents.get(DEFAULT_SCOPE, agent.id)
                    except UnavailableProblem:
                        found = None
                    await asyncio.sleep(0.1)
            assert found == agent
        assert not (Path(folder) / "postgres" / "postmaster.pid").exists()
