"""Which hosts a server answers for."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from engram.http.problems import MisdirectedProblem
from engram.server.errors import problem_response
from engram.server.middleware.headers import header_values

_HOST = re.compile(r"(\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[\w.-]+))(:\d*)?", re.ASCII)
_ASKING = ("http", "websocket")


class KnownHosts:
    """Refuses requests for hosts that are neither this machine nor among ``allowed``.

    A server without API keys trusts whoever reaches loopback. That must not be any page open in a browser whose host
    name was made to resolve to 127.0.0.1. Where there are keys, the key decides. A key that is sent to a server without
    any proves nothing: such a page can send one too.
    """

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = frozenset(name.strip().casefold() for name in allowed) - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in _ASKING and not self._knows(_host(scope)) and await _trusts_anybody(scope):
            problem = MisdirectedProblem(
                "This server has no API keys, and answers only to requests for localhost. Ask for 127.0.0.1, or name "
                "the host in ENGRAM_ALLOWED_HOSTS where the network around it can be trusted."
            )
            await problem_response(problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _knows(self, host: str) -> bool:
        return "*" in self._allowed or host.casefold() in self._allowed or is_loopback(host)


async def _trusts_anybody(scope: Scope) -> bool:
    services = scope["app"].state.services
    return services is None or not await services.authenticator.closed_as_far_as_known()


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name alone: no name is looked up."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host(scope: Scope) -> str:
    """The Host header without its port; of several none counts, nor what is no host."""
    given = header_values(scope, b"host")
    found = _HOST.fullmatch(given[0].decode("latin-1").strip().lower()) if len(given) == 1 else None
    return (found["address"] or found["name"]).removesuffix(".") if found is not None else ""
