"""The server: whether one answers, and if not, whether one could listen."""

from __future__ import annotations

import os

from engram import __version__
from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.client import APIConnectionError, APIStatusError, Engram, EngramError
from engram.health import HealthReport
from engram.problems import Problem
from engram.server.sockets import listen, refuse_open_door
from engram.settings import Settings

_SECONDS = 3.0
_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104


def examine_server(settings: Settings, *, has_keys: bool) -> tuple[HealthReport | None, list[Finding]]:
    """What a running server says of itself; where none runs, whether its address is free.

    Asked is where the settings have it, and where clients look, if that is another place.
    """
    local = f"http://{_EVERYWHERE.get(settings.host, settings.host)}:{settings.port}"
    wanted = os.environ.get("ENGRAM_BASE_URL", "").strip()
    findings = []
    if wanted and wanted.rstrip("/") != local:
        findings.append(_asked(wanted)[1] or warn("Server", "None answers at ENGRAM_BASE_URL", "Start it, or unset it"))
    report, finding = _asked(local)
    return report, [*findings, finding or _port(settings, has_keys=has_keys)]


def _asked(url: str) -> tuple[HealthReport | None, Finding | None]:
    """The report and a finding about it; no finding where nobody answers."""
    try:
        with Engram(url, timeout=_SECONDS, max_retries=0) as client:
            report = client.health()
    except APIConnectionError:
        return None, None
    except APIStatusError as error:
        other = f"what answers at this address is no Engram server ({error.status_code})"
        return None, fail("Server", other, "Choose another port with --port or ENGRAM_PORT")
    except EngramError as error:
        return None, fail("Server", str(error), "Choose another port with --port or ENGRAM_PORT")
    where = repr(client).removeprefix("Engram(").rstrip(")").strip("'")
    if report.status != "ok":
        said = report.database.get("detail", report.status)
        return report, fail("Server", f"at {where}, but not ready: {said}", "Look at its log")
    if report.version != __version__:
        return report, warn("Server", f"at {where}, version {report.version}; this is {__version__}", "Restart it")
    return report, ok("Server", f"answers at {where}")


def _port(settings: Settings, *, has_keys: bool) -> Finding:
    try:
        listeners = listen(settings)
        try:
            if not has_keys:
                refuse_open_door(listeners, settings)
        finally:
            for listener in listeners:
                listener.close()
    except Problem as problem:
        return fail("Server", problem.detail)
    return ok("Server", f"none yet; port {settings.port} on {settings.host} is free for engram serve")
