"""``serve`` as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

SERVE = "from engram.server import run; from engram.settings import Settings; {}run.serve(Settings())"

PATIENCE = 60.0
"""Seconds that a process may take for each step."""

SHOW_PROBLEMS = """
import sys
from engram.problems import Problem
sys.excepthook = lambda kind, error, trace: issubclass(kind, Problem) and print("Problem:", error, file=sys.stderr)
"""


class Process:
    """``serve`` in an interpreter of its own, with what it says on stderr, a line of JSON each."""

    def __init__(self, folder: Path, before: str = "", **settings: object) -> None:
        environment = os.environ | {"ENGRAM_PORT": "0", "ENGRAM_LOG_FORMAT": "json"}
        environment |= {f"ENGRAM_{name.upper()}": str(value) for name, value in settings.items()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE.format(before)],
            cwd=folder,
            env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self._lines: Queue[str] = Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line)
            self._lines.put(line)

    def hear(self, key: str) -> dict[str, Any]:
        """The next line that has this key. Fails where the process ends without, or takes too long."""
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, "".join(self.said)
            try:
                line = self._lines.get(timeout=0.05)
            except Empty:
                assert self._process.poll() is None, "".join(self.said)
                continue
            if line.startswith("{") and key in (found := json.loads(line)):
                return found

    @property
    def url(self) -> str:
        return self.hear("url")["url"]

    @property
    def below(self) -> list[psutil.Process]:
        """The processes of ours that it has started."""
        found = psutil.Process(self._process.pid).children()
        return [process for process in found if "engram.server.workers" in process.cmdline()]

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def interrupt_all(self) -> None:
        """As a terminal does, to all that are still of its group."""
        os.killpg(self._process.pid, signal.SIGINT)

    def end(self) -> int:
        """The exit status, once it ends by itself; nothing may have been said on stdout."""
        status = self._process.wait(PATIENCE)
        self._heard_all()
        assert self._process.stdout is not None
        assert self._process.stdout.read() == ""
        return status

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        self._heard_all()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()

    def _heard_all(self) -> None:
        self._listener.join(PATIENCE)
        assert not self._listener.is_alive(), "a process that it started lives on, and has its stderr"


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Process] = []

    def begin(before: str = "", **settings: object) -> Process:
        started.append(Process(tmp_path, before, **settings))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
