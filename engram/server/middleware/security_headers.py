"""Headers on every answer: what a browser must not do with it."""

from __future__ import annotations

Headers = tuple[tuple[bytes, bytes], ...]

DOCS = "/docs"
"""The page where the API can be tried, and what belongs to it."""

_EVERYWHERE: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    # Of requests without CORS alone, such as those of <img> and <script>: it takes nothing from origins that may read.
    (b"cross-origin-resource-policy", b"same-origin"),
)

API_HEADERS: Headers = (*_EVERYWHERE, (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"))

# The style sheet of Swagger UI has pictures in itself.
_DOCS_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

DOCS_HEADERS: Headers = (*_EVERYWHERE, (b"content-security-policy", _DOCS_POLICY))


def security_headers(path: str) -> Headers:
    return DOCS_HEADERS if path.startswith(DOCS) else API_HEADERS
