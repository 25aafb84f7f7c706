"""What a client is told at its making."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import httpx

from engram import __version__
from engram.client._errors import EngramError

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT = 30.0
DEFAULT_MAX_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Options:
    """Where the server is and how to talk to it. ``origin`` is the base URL without user and password."""

    base_url: str = field(repr=False)
    origin: str
    api_key: str | None = field(repr=False)
    timeout: httpx.Timeout
    max_retries: int

    @classmethod
    def given(
        cls,
        base_url: str | None,
        api_key: str | None,
        timeout: float | httpx.Timeout | None,
        max_retries: int,
    ) -> Options:
        """Completed from the environment and the defaults, and checked.

        Raises EngramError for what cannot work: a base URL that is none, a key that no header can carry.
        """
        url = _base_url(base_url or os.environ.get("ENGRAM_BASE_URL", "").strip() or DEFAULT_BASE_URL)
        if max_retries < 0:
            raise EngramError(f"max_retries must not be negative, got {max_retries}")
        return cls(
            base_url=str(url).rstrip("/"),
            origin=str(url.copy_with(userinfo=b"")).rstrip("/"),
            api_key=_header_safe(api_key or os.environ.get("ENGRAM_API_KEY", "").strip() or None),
            timeout=httpx.Timeout(timeout),
            max_retries=max_retries,
        )

    def headers(self) -> dict[str, str]:
        """The headers that all requests have in common."""
        headers = {"Accept": "application/json", "User-Agent": f"engram-python/{__version__}"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers


def _base_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        # Neither the text nor httpx's complaint is repeated: a password may be in them.
        raise EngramError(f"the base URL must begin with http:// or https://, as in {DEFAULT_BASE_URL}")
    return url.copy_with(query=None, fragment=None)


def _header_safe(api_key: str | None) -> str | None:
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise EngramError("the API key must be printable ASCII")
    return api_key
