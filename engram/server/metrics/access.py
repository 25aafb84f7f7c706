"""Who may read the measurements."""

from __future__ import annotations

import hmac

from pydantic import SecretStr

from engram.problems import AuthenticationProblem


def check_scrape(expected: SecretStr | None, given: str | None, *, closed: bool) -> None:
    """Raises AuthenticationProblem where a scrape that brings ``given`` as its bearer token may not read.

    Measurements are of all tenants together, and so for the operator alone: of a server that is ``closed`` by API keys
    nobody reads them without the token, whatever key they have.
    """
    if expected is None:
        if closed:
            raise AuthenticationProblem("Set ENGRAM_METRICS_TOKEN: where there are API keys, measurements need it.")
        return
    # Headers come as Latin-1. Compared in a time that does not tell how much of the token was right.
    if not hmac.compare_digest((given or "").encode("latin-1"), expected.get_secret_value().encode()):
        raise AuthenticationProblem("Measurements need the token of ENGRAM_METRICS_TOKEN as a bearer token.")
