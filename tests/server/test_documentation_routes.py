"""The pages that describe the server."""

from __future__ import annotations

import httpx
import pytest


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_a_method_they_do_not_take_is_refused(app, path: str, method: str) -> None:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        response = await client.request(method, path)
    assert response.status_code == 405
    assert response.headers["content-type"] == "application/problem+json"
