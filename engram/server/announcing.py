"""What a server says of itself as it starts."""

from __future__ import annotations

from engram.db.dsn import parse_dsn
from engram.services import Services
from engram.settings import Settings


def announcement(services: Services) -> dict[str, str]:
    """What it works with, and who may ask it."""
    settings, embedder = services.settings, services.embedder.model
    return {
        "database": database_of(settings),
        "embedder": f"{embedder.provider} ({embedder.name}, {embedder.dimension} dimensions)",
        "access": _access(services),
        "jobs": "done here" if settings.worker else "left to engram worker",
    }


def database_of(settings: Settings) -> str:
    """Which database is in use, without its password."""
    url = settings.database_url
    return str(parse_dsn(url.get_secret_value())) if url else f"embedded, in {settings.data_dir}"


def _access(services: Services) -> str:
    if services.authenticator.closed:
        return "with API keys"
    if services.settings.insecure_bind:
        return "no API keys: whoever reaches this address may do everything"
    return "no API keys: only this machine can connect"
