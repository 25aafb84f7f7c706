"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
