"""The token that a request brings."""

from __future__ import annotations

from starlette.datastructures import Headers


def bearer_token(headers: Headers) -> str | None:
    """The token of ``Authorization: Bearer TOKEN``; None where there is no such header, another one, or several."""
    given = headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip(" ") if scheme.lower() == "bearer" else None
