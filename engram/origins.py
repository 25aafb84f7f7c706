"""Origins of web pages, as settings name them: ``https://app.example.com, http://localhost:3000``."""

from __future__ import annotations

import re

ANY = "*"

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?")


def parse_origins(text: str) -> tuple[str, ...]:
    """The origins in a list separated by commas, each once; none of a blank text.

    Raises ValueError for what no browser would send: an origin has a scheme, a host in lower case, and a port where
    it is not the usual one, but no path, and no slash at its end.
    """
    origins = tuple(dict.fromkeys(part for part in (part.strip() for part in text.split(",")) if part))
    if any(origin != ANY and not _ORIGIN.fullmatch(origin) for origin in origins):
        raise ValueError("must be origins such as https://app.example.com, separated by commas, or *")
    return origins
