"""Which hosts are asked past the proxies that the environment names."""

from __future__ import annotations

PAST_PROXIES: dict[str, None] = {f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")}
"""``mounts`` of an httpx client. A proxy is for other machines: it cannot reach this one, nor should it hear of it."""
