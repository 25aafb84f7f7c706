"""Commands as clients of a server: the connection, its errors in one line, and the agent by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

import httpx

from engram.cli.errors import CommandError
from engram.cli.text import one_line
from engram.client import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    Engram,
    EngramError,
    NotFoundError,
    PermissionDeniedError,
)
from engram.client._options import DEFAULT_TIMEOUT, Options

_MAKE_ONE = "Where the server runs, engram keys create --role ROLE --tenant NAME makes one."
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@contextmanager
def connected(url: str | None, *, patient: bool = False) -> Iterator[Engram]:
    """A client of the server at ``url``; where None, at the one that the environment names.

    A ``patient`` one tries again after passing failures, and waits minutes for an answer. Raises CommandError for all
    that goes wrong on the way, with what to do where no server answers.
    """
    try:
        timeout, retries = (300.0, 4) if patient else (DEFAULT_TIMEOUT, 0)
        with Engram(url, timeout=timeout, max_retries=retries) as client:
            yield client
    except APITimeoutError as error:
        raise CommandError(str(error)) from error
    except APIConnectionError as error:
        raise CommandError(_no_server(url, error)) from error
    except AuthenticationError as error:
        raise CommandError(_no_entrance(error)) from error
    except PermissionDeniedError as error:
        raise CommandError(f"{error.detail} {_MAKE_ONE}") from error
    except APIStatusError as error:
        raise CommandError(refusal(error)) from error
    except EngramError as error:
        raise CommandError(str(error)) from error


def refusal(error: APIStatusError) -> str:
    """What the server said, with the fields that are wrong; the request's name only where the fault is the server's."""
    fields = [f"{wrong.field}: {wrong.message}" for wrong in error.errors]
    named = [text for text in fields if text not in error.detail]
    text = "; ".join([error.detail.rstrip(".") if named else error.detail, *named])
    return f"{text} (request {error.request_id})" if error.status_code >= 500 and error.request_id else text


def agent_id(client: Engram, agent: str) -> str:
    """The id of an agent that exists, by name or id. Raises CommandError: asking makes no agents."""
    try:
        return str(UUID(agent))
    except ValueError:
        pass
    for found in client.agents.list(name=agent, limit=1).data:
        return found.id
    raise CommandError(
        f"there is no agent {agent!r} yet; it is made when it first remembers: engram remember TEXT."
        " A key sees the agents of its own tenant alone"
    )


def texts_of(client: Engram, ids: Iterable[str]) -> dict[str, str]:
    """Texts of memories, by id; without those that were deleted meanwhile."""
    texts = {}
    for id in dict.fromkeys(ids):
        with suppress(NotFoundError):
            texts[id] = client.memories.get(id).content
    return texts


def _no_entrance(error: AuthenticationError) -> str:
    if os.environ.get("ENGRAM_API_KEY", "").strip():
        return f"the server does not take the key in ENGRAM_API_KEY: {error.detail}"
    return f"the server wants an API key: set ENGRAM_API_KEY. {_MAKE_ONE}"


def _no_server(url: str | None, error: APIConnectionError) -> str:
    address = httpx.URL(Options.given(url, None, None, 0).origin)
    cause = error.__cause__
    reason = one_line(str(cause)) if cause is not None and str(cause) else "no connection"
    text = f"no Engram server answers at {address} ({reason})."
    if address.host not in _LOOPBACK:
        return f"{text} Is it running, and is the address right?"
    port = "" if address.port in (8080, None) else f" --port {address.port}"
    return f"{text} Start one: engram serve{port}"
