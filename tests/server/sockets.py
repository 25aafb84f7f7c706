"""Talking to a server below HTTP: what is sent is bytes, and so is what comes back."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    found = b""
    while chunk := connection.recv(65536):
        found += chunk
    return found
