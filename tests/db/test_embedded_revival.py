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


async def test_it_is_started_again_with_the_same_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "WATCH_SECONDS", 0.2)
    with server_folder() as folder:
        async with open_services(Settings(data_dir=Path(folder))) as services:
            agent, _ = await services.agents.create(DEFAULT_SCOPE, AgentCreate(name="before"))
            postmaster = int((Path(folder) / "postgres" / "postmaster.pid").read_text().splitlines()[0])
            os.kill(postmaster, signal.SIGKILL)
            for _ in range(300):
                try:
                    found = await services.agents.get(DEFAULT_SCOPE, agent.id)
                    break
                except UnavailableProblem:
                    await asyncio.sleep(0.1)
            assert found == agent
        assert not (Path(folder) / "postgres" / "postmaster.pid").exists()
