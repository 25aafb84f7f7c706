"""Who may read the measurements."""

from __future__ import annotations

import hmac

from engram.problems import Problem
from engram.settings import Settings

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="engram metrics"'}


class MetricsRefusedProblem(Problem):
    """The scrape did not bring the token of this server."""

    status = 401
    type = "unauthorized"
    title = "Unauthorized"


def refusal(settings: Settings, authorization: str | None) -> Problem | None:
    """Why a scrape that brings this ``Authorization`` header is refused; None where it may read."""
    if settings.metrics_token is None:
        return None
    scheme, _, given = (authorization or "").partition(" ")
    expected = settings.metrics_token.get_secret_value().encode()
    # Headers come as Latin-1. Compared in a time that does not tell how much of the token was right.
    if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode("latin-1"), expected):
        return None
    return MetricsRefusedProblem("Measurements need the token of ENGRAM_METRICS_TOKEN as a bearer token.")
