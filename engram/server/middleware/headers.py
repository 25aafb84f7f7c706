"""Headers of a request, as ASGI has them: pairs of bytes, names in lower case."""

from __future__ import annotations

from starlette.types import Scope


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]
