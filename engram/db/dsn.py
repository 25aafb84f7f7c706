"""The address of a database: parsed once, with the password kept where it cannot be printed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import SecretStr

from engram.problems import ConfigurationProblem

_SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")
_HELP = (
    "It should read like postgresql://user:password@host:5432/database, "
    "with %, @, : and / in the password percent-encoded."
)


@dataclass(frozen=True)
class Dsn:
    """``url`` has all that was given but the password, and is safe to show. ``user`` is None where none is named."""

    url: str
    password: SecretStr | None
    user: str | None = None

    def __str__(self) -> str:
        return self.url


def parse_dsn(text: str) -> Dsn:
    """Read ``postgresql://``, ``postgres://`` or ``postgresql+asyncpg://``.

    Raises ``ConfigurationProblem``, which does not repeat the text: what is malformed may be the password.
    """
    try:
        parts = urlsplit(text)
        # From the right, so that a password with a bare "@" never ends up in the host name, which is shown.
        userinfo, at, hosts = parts.netloc.rpartition("@")
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        ports = [host.rpartition(":")[2] for host in hosts.split(",") if not host.endswith("]") and ":" in host]
    except ValueError:
        raise ConfigurationProblem(f"The database URL cannot be read. {_HELP}") from None
    if parts.scheme not in _SCHEMES:
        raise ConfigurationProblem(f"The database URL must start with postgresql://. {_HELP}")
    # A password with a bare "/" or "#" cuts the URL short inside it: the path is then not one name.
    if parts.fragment or "/" in parts.path[1:] or not all(port.isdecimal() for port in ports):
        raise ConfigurationProblem(f"The database URL cannot be read. {_HELP}")

    user, colon, password = userinfo.partition(":")
    secret = unquote(password) if colon and password else None
    for name, value in query:
        if name == "password":
            secret = value
    shown = urlencode([(name, value) for name, value in query if name != "password"], quote_via=quote, safe="/,:")
    url = f"postgresql://{user}{at}{hosts}{parts.path}" + (f"?{shown}" if shown else "")
    named = unquote(user) or dict(query).get("user") or None
    return Dsn(url, SecretStr(secret) if secret is not None else None, named)
