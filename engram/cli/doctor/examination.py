"""All that the doctor looks at, in the order in which a server needs it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engram.cli.doctor.database import Contents, examine_database
from engram.cli.doctor.embedded import examine_embedded, is_made
from engram.cli.doctor.embedder import examine_embedder, examine_model
from engram.cli.doctor.findings import Finding, ok, warn
from engram.cli.doctor.keys import examine_keys
from engram.cli.doctor.login import examine_login
from engram.cli.doctor.machine import examine_data_dir, examine_python
from engram.cli.doctor.server import examine_server
from engram.cli.doctor.variables import examine_settings
from engram.settings import Settings


def examine(data_dir: Path | None) -> list[Finding]:
    """Everything that is to be said. Where the settings cannot be used, it ends with them."""
    settings, findings = examine_settings()
    findings = [examine_python(), *findings]
    if settings is None:
        return findings
    if data_dir is not None:
        settings = settings.model_copy(update={"data_dir": data_dir})
    stored, contents = asyncio.run(_storage(settings))
    report, served = examine_server(settings, has_keys=contents.has_keys)
    pending = contents.pending if contents.pending is not None or report is None else report.pending_links
    return [*findings, *stored, *examine_keys(contents, settings), *served, *_pending(pending)]


async def _storage(settings: Settings) -> tuple[list[Finding], Contents]:
    """The database and the embedder, and whether they belong together."""
    contents = Contents()
    if settings.database_url is not None:
        url: str | None = (settings.owner_database_url or settings.database_url).get_secret_value()
        findings: list[Finding] = []
    else:
        url, embedded = examine_embedded(settings.data_dir)
        findings = [*examine_data_dir(settings.data_dir), embedded]
        if not is_made(settings.data_dir):
            contents.has_keys = False
    if url is not None:
        found, contents = await examine_database(url, settings)
        findings += [*found, *await examine_login(settings, contents.identity)]
    model, finding = await examine_embedder(settings)
    findings.append(finding)
    fitting = examine_model(model, contents) if model is not None else None
    return ([*findings, fitting] if fitting is not None else findings), contents


def _pending(count: int | None) -> list[Finding]:
    if count is None:
        return []
    if count:
        fix = "A running server makes them; if they stay, its log says why"
        return [warn("Links", f"memories that wait for their links: {count:,}", fix)]
    return [ok("Links", "no memory waits for its links")]
