"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import io
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import structlog

from engram import Engram
from engram.cli.main import main


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


Run = Callable[..., Outcome]
Examine = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, _own_logs: None) -> Run:
    """``run("recall", "x", stdin=b"...")`` in this process."""

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = main(arguments)
        printed = capsys.readouterr()
        return Outcome(status, printed.out, printed.err)

    return run


@pytest.fixture
def client_run(run: Run, live_server: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """As ``run``, with a server where the command looks for one."""
    monkeypatch.setenv("ENGRAM_BASE_URL", live_server)
    return run


@pytest.fixture
def client(live_server: str) -> Iterator[Engram]:
    with Engram(live_server) as client:
        yield client


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def examine(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_port: int, static_weights: None) -> Examine:
    """``examine(ENGRAM_...=...)``: the doctor's answer in such an environment, where no server runs."""

    def examine(*arguments: str, **environment: str) -> Outcome:
        defaults = {"ENGRAM_PORT": str(free_port), "ENGRAM_DATA_DIR": str(tmp_path / "data")}
        for name, value in (defaults | environment).items():
            monkeypatch.setenv(name, value)
        return run("doctor", *arguments)

    return examine


def statuses(outcome: Outcome) -> dict[str, str]:
    """The worst status of each thing that was looked at."""
    findings = sorted(outcome.json["findings"], key=lambda finding: ["ok", "warn", "fail"].index(finding["status"]))
    return {finding["name"]: finding["status"] for finding in findings}


def told(outcome: Outcome, name: str) -> str:
    """All that was said of one thing, with what to do about it."""
    found = [finding for finding in outcome.json["findings"] if finding["name"] == name]
    return " ".join(f"{finding['detail']} {finding['fix']}" for finding in found)


async def change(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture
def _own_logs() -> Iterator[None]:
    """Commands send logs to the stderr that they find, which ends with the test."""
    structlog_settings = structlog.get_config()
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    # A server in this process would log between the answers.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**structlog_settings)
    root.handlers, root.level = handlers, level


def start(*arguments: str, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """A process of its own, without a terminal, at 80 columns unless told otherwise."""
    return subprocess.Popen(
        [sys.executable, "-m", "engram.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80", **environment},
    )


def finish(process: subprocess.Popen[str], timeout: float = 60) -> Outcome:
    stdout, stderr = process.communicate(timeout=timeout)
    return Outcome(process.returncode, stdout, stderr)
