"""A small HTTP server that answers with a memory whose content is the port the question came from."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .answers import DETAIL


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PortServer

    def setup(self) -> None:
        super().setup()
        self.server.count(1)

    def finish(self) -> None:
        super().finish()
        self.server.count(-1)

    def do_GET(self) -> None:
        if self.path.endswith("/slow"):
            self.server.released.wait(30)
        body = json.dumps({**DETAIL, "content": str(self.client_address[1])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


class PortServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.released = threading.Event()
        self.base_url = f"http://127.0.0.1:{self.server_port}"
        self._changed = threading.Condition()
        self._connections = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet too: a client that gives up leaves a broken pipe behind."""

    def count(self, change: int) -> None:
        with self._changed:
            self._connections += change
            self._changed.notify_all()

    def is_left_alone(self) -> bool:
        """Whether all connections are closed, now or soon."""
        with self._changed:
            return self._changed.wait_for(lambda: self._connections == 0, timeout=30)


@contextmanager
def port_server() -> Iterator[PortServer]:
    with PortServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join(30)
