"""The server: whether one answers, and if not, whether one could listen."""

from __future__ import annotations

import os
from dataclasses import replace

from engram import __version__
from engram.cli.doctor.client_key import SECONDS, examine_client_key
from engram.cli.doctor.findings import Finding, fail, ok, warn
from engram.client import APIConnectionError, APIStatusError, Engram, EngramError
from engram.health import HealthReport
from engram.problems import Problem
from engram.server.sockets import listen, refuse_open_door
from engram.settings import Settings

_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104


def examine_server(settings: Settings, *, has_keys: bool | None) -> tuple[HealthReport | None, list[Finding]]:
    """What a running server says of itself; where none runs, whether its address is free.

    Asked is where the settings have it, and where clients look, if that is another place. ``has_keys``: whether there
    are API keys; None where it is not known.
    """
    local = f"http://{_EVERYWHERE.get(settings.host, settings.host)}:{settings.port}"
    wanted = os.environ.get("ENGRAM_BASE_URL", "").strip()
    report, finding = _asked(local, "Choose another port with --port or ENGRAM_PORT")
    here = finding or _port(settings, has_keys=has_keys)
    if not wanted or wanted.rstrip("/") == local:
        return report, [here, *examine_client_key(local if report else None, has_keys=has_keys)]
    answer, finding = _asked(wanted, "Correct or unset ENGRAM_BASE_URL")
    there = finding or warn("Server", "none answers", "Start it, or unset ENGRAM_BASE_URL")
    findings = [
        replace(there, detail=f"ENGRAM_BASE_URL, where commands look: {there.detail}"),
        replace(here, detail=f"ENGRAM_HOST and ENGRAM_PORT, where engram serve listens: {here.detail}"),
    ]
    return report, [*findings, *examine_client_key(wanted if answer else None, has_keys=has_keys)]


def _asked(url: str, otherwise: str) -> tuple[HealthReport | None, Finding | None]:
    """The report and a finding about it; no finding where nobody answers. ``otherwise``: what to do where a stranger
    does."""
    try:
        with Engram(url, timeout=SECONDS, max_retries=0) as client:
            report = client.health()
    except APIConnectionError:
        return None, None
    except APIStatusError as error:
        return None, fail("Server", f"what answers there is no Engram server ({error.status_code})", otherwise)
    except EngramError as error:
        return None, fail("Server", str(error), otherwise)
    where = repr(client).removeprefix("Engram(").rstrip(")").strip("'")
    if report.status != "ok":
        said = report.database.get("detail", report.status)
        return report, fail("Server", f"at {where}, but not ready: {said}", "Look at its log")
    if report.version != __version__:
        return report, warn("Server", f"at {where}, version {report.version}; this is {__version__}", "Restart it")
    return report, ok("Server", f"answers at {where}")


def _port(settings: Settings, *, has_keys: bool | None) -> Finding:
    refused = None
    try:
        listeners = listen(settings)
        try:
            refuse_open_door(listeners, settings)
        except Problem as problem:
            refused = problem.detail
        finally:
            for listener in listeners:
                listener.close()
    except Problem as problem:
        return fail("Server", problem.detail)
    free = f"none yet; port {settings.port} on {settings.host} is free for engram serve"
    if refused is None or has_keys:
        return ok("Server", free)
    if has_keys is None:
        unknown = "whether there are API keys is not known while the database does not run"
        return warn("Server", f"{free}; {unknown}", "Without a key it refuses: engram keys create --role admin")
    return fail("Server", refused)
