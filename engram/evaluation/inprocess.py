"""The public API without a network: the SDK over the app, in this process."""

from __future__ import annotations

import httpx

from engram.client import AsyncEngram
from engram.server.app import create_app
from engram.services import Services


def client_of(services: Services) -> AsyncEngram:
    """A client whose requests go straight to an app over ``services``. Holds nothing that must be closed."""
    transport = httpx.ASGITransport(app=create_app(services=services))
    return AsyncEngram("http://127.0.0.1", transport=transport, timeout=None)
