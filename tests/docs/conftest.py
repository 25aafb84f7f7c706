"""A server for the pages' examples."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from engram.server.app import create_app
from engram.settings import Settings


@pytest.fixture
def server_url(settings: Settings, static_weights: None) -> Iterator[str]:
    """The address of a server on a database of the test's own."""
    config = uvicorn.Config(create_app(settings), host="127.0.0.1", port=0, log_config=None, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()
