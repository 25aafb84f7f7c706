"""A small HTTP server that plays an embedding provider, well or badly, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIMENSION = 8


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0  # before the first byte
    drip: float = 0.0  # after each byte


Behaviour = Callable[[list[str]], Reply]


@dataclass(frozen=True)
class Request:
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return list(self.body["input"])


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """Of length 1, and different for different texts."""
    draw = random.Random(hashlib.sha256(text.encode()).digest())
    numbers = [draw.gauss(0, 1) for _ in range(dimension)]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def answer(vectors: Sequence[Any]) -> Reply:
    items = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return Reply(body=json.dumps({"object": "list", "data": items}).encode())


def well(texts: list[str]) -> Reply:
    return answer([vector_of(text) for text in texts])


def error(status: int, message: str = "no", **headers: str) -> Behaviour:
    body = json.dumps({"error": {"message": message, "type": "error", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(status, body, named)


class Provider:
    """``provider.behave(a, b)``: the next call gets ``a``, all calls after it ``b``."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._script: Iterator[Behaviour] = iter(())
        self._last: Behaviour = well
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                request = Request(
                    {name.lower(): value for name, value in self.headers.items()},
                    json.loads(self.rfile.read(length)),
                )
                self._send(provider._reply(request))

            def _send(self, reply: Reply) -> None:
                time.sleep(reply.delay)
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if not reply.drip:
                    self.wfile.write(reply.body)
                    return
                for byte in reply.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(reply.drip)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: object) -> None:
                """A client that gave up is what some tests are about."""

            def get_request(self) -> tuple[socket.socket, Any]:
                connection, address = super().get_request()
                provider._connections.append(connection)
                return connection, address

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def behave(self, *behaviours: Behaviour) -> None:
        """Also forgets the requests so far."""
        with self._lock:
            self.requests.clear()
            *first, self._last = behaviours
            self._script = iter(first)

    def stop(self) -> None:
        """Nobody listens any more, and connections that were kept are cut."""
        self._server.shutdown()
        self._server.server_close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            behaviour = next(self._script, self._last)
        return behaviour(request.texts)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
