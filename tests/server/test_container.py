"""What the container image asks of the server in it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

DOCKERFILE = (Path(__file__).parents[2] / "Dockerfile").read_text()


def health_check(port: int) -> int:
    """The exit status of the image's health check where the server is set to this port, behind a proxy that is away."""
    found = re.search(r"^HEALTHCHECK[^\[]*(\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert found
    python, *arguments = json.loads(found[1])
    assert python == "python"
    surroundings = {"ENGRAM_PORT": str(port), "HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, *arguments], env=os.environ | surroundings, capture_output=True, timeout=30, check=False
    )
    return done.returncode


def test_the_health_check_asks_the_port_that_is_set_and_no_proxy(live_server: str) -> None:
    port = urlsplit(live_server).port
    assert port is not None
    assert health_check(port) == 0


def test_the_health_check_fails_where_nobody_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert health_check(taken.getsockname()[1]) != 0


def test_the_health_check_does_not_depend_on_the_database() -> None:
    assert "/health/live" in DOCKERFILE
    assert "/health/ready" not in DOCKERFILE
