"""``engram doctor``."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.table import Table
from rich.text import Text

from engram.cli.doctor.findings import Finding, Status
from engram.cli.logs import quiet_logs
from engram.cli.options import DataDirOption, JsonOption
from engram.cli.output import answers, messages, write_json
from engram.cli.text import counted, one_line

_STYLES = {Status.ok: "green", Status.warn: "yellow", Status.fail: "bold red"}


def doctor(data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Say what is wrong and how to mend it. Changes nothing; exit status 1 where something must be mended."""
    quiet_logs()
    # Alembic, SQLAlchemy and the embedder take a second to load.
    from engram.cli.doctor.examination import examine  # noqa: PLC0415

    with messages().status("Looking ..."):
        findings = examine(data_dir)
    failed = sum(finding.status is Status.fail for finding in findings)
    if as_json:
        write_json({"ok": not failed, "findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings, failed)
    if failed:
        raise typer.Exit(1)


def _show(findings: list[Finding], failed: int) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        told = Text(one_line(finding.detail))
        if finding.fix:
            told.append(f"\n→ {one_line(finding.fix)}", "cyan")
        table.add_row(Text(finding.status.value, _STYLES[finding.status]), finding.name, told)
    console = answers()
    console.print(table)
    warned = sum(finding.status is Status.warn for finding in findings)
    outcome = [f"{counted(failed, 'thing')} to mend"] if failed else []
    outcome += [counted(warned, "warning")] if warned else []
    console.print(Text("\n" + (", ".join(outcome) if outcome else "All is well.")))
