"""Engram: memory for AI agents.

``Engram`` and ``AsyncEngram`` talk to a running server; every error they raise is an ``EngramError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from engram.client import (
        APIConnectionError,
        APIStatusError,
        APITimeoutError,
        AsyncEngram,
        AuthenticationError,
        BadRequestError,
        ConflictError,
        Engram,
        EngramError,
        InternalServerError,
        NotFoundError,
        PermissionDeniedError,
        RateLimitError,
        UnprocessableEntityError,
    )

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncEngram",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "Engram",
    "EngramError",
    "InternalServerError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "UnprocessableEntityError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    # Every module of the server passes through here, and none needs an HTTP client: load it when asked.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from engram import client  # noqa: PLC0415

    value = globals()[name] = getattr(client, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
