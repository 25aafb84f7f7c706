"""Who may read the measurements."""

from __future__ import annotations

import hmac

from engram.problems import AuthenticationProblem
from engram.settings import Settings


def check_scrape(settings: Settings, authorization: str | None, *, closed: bool) -> None:
    """Raises AuthenticationProblem where a scrape that brings this ``Authorization`` header may not read.

    Measurements are of all tenants together, and so for the operator alone: of a server that is ``closed`` by API keys
    nobody reads them without the token, whatever key they have.
    """
    if settings.metrics_token is None:
        if closed:
            raise AuthenticationProblem("Set ENGRAM_METRICS_TOKEN: where there are API keys, measurements need it.")
        return
    scheme, _, given = (authorization or "").partition(" ")
    expected = settings.metrics_token.get_secret_value().encode()
    # Headers come as Latin-1. Compared in a time that does not tell how much of the token was right.
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), expected):
        raise AuthenticationProblem("Measurements need the token of ENGRAM_METRICS_TOKEN as a bearer token.")
