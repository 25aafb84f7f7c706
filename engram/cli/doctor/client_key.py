"""The key that commands bring: whether the server takes it."""

from __future__ import annotations

import os

from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.client import AuthenticationError, Engram, EngramError

SECONDS = 3.0
"""How long a server may take to answer."""

_MAKE_ONE = "Where the server runs, engram keys create --role ROLE makes one"


def examine_client_key(url: str | None, *, has_keys: bool | None) -> list[Finding]:
    """What is to be said of ENGRAM_API_KEY, which is not shown. ``url`` is of a server that answers; None where none
    does."""
    given = bool(os.environ.get("ENGRAM_API_KEY", "").strip())
    refusal = _refusal(url) if url is not None else None
    if given and refusal is not None:
        return [fail("API key", f"the server does not take the key in ENGRAM_API_KEY: {refusal}", _MAKE_ONE)]
    if not given and (refusal is not None or (has_keys and url is None)):
        return [warn("API key", "there are API keys, and commands need one: set ENGRAM_API_KEY", _MAKE_ONE)]
    return [ok("API key", "the server takes the one in ENGRAM_API_KEY")] if given and url is not None else []


def _refusal(url: str) -> str | None:
    """Why the server takes no request of ours; None where it does, or has other troubles."""
    try:
        with Engram(url, timeout=SECONDS, max_retries=0) as client:
            client.agents.list(limit=1)
    except AuthenticationError as error:
        return error.detail
    except EngramError:
        return None
    return None
