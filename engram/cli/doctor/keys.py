"""API keys: who can connect."""

from __future__ import annotations

from engram.cli.doctor.database import Contents
from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.cli.text import counted
from engram.settings import Settings

_MAKE_ONE = "engram keys create --role admin"


def examine_keys(contents: Contents, settings: Settings) -> list[Finding]:
    """Whether anybody can connect, whether everybody can, and what keys close. Nothing where the database does not
    say."""
    if contents.has_keys is None:
        return []
    if not contents.has_keys:
        if settings.insecure_bind:
            open_door = "none, and ENGRAM_INSECURE_BIND is set: whoever reaches the server reads and erases everything"
            return [warn("Keys", open_door, _MAKE_ONE)]
        return [ok("Keys", "none: only this machine can connect")]
    return [_valid(contents), *_metrics(settings)]


def _valid(contents: Contents) -> Finding:
    if contents.keys is None:
        return ok("Keys", "there are some; who owns the tables sees which: ENGRAM_OWNER_DATABASE_URL")
    if not contents.keys.valid:
        return fail("Keys", "all are revoked or have expired: nobody can connect", _MAKE_ONE)
    found = f"{counted(contents.keys.valid, 'valid key')} in {counted(contents.keys.tenants, 'tenant')}"
    return ok("Keys", found)


def _metrics(settings: Settings) -> list[Finding]:
    # No fault: who reads no measurements needs no token.
    if settings.metrics_token is not None:
        return []
    return [ok("Metrics", "/metrics is closed, as there are API keys: ENGRAM_METRICS_TOKEN opens it")]
