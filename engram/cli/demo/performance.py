"""The demo from its beginning to its end."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

from engram.cli.demo.show import show_end, show_finding, show_stage
from engram.cli.demo.stage import Stage, open_stage
from engram.cli.demo.story import QUESTIONS, Finding, Timing, ask, measure, report
from engram.cli.output import answers, messages, write_json
from engram.cli.scratch import scratch_folder


def perform(*, as_json: bool) -> None:
    """Start, load, ask, and show on stdout what came of it."""
    with scratch_folder("engram-demo-") as folder:
        stage, findings, timing = asyncio.run(_play(folder))
    if as_json:
        write_json(report(stage, findings, timing))
        return
    console = answers()
    show_stage(console, stage)
    for number, finding in enumerate(findings, start=1):
        show_finding(console, number, finding, stage.texts)
    show_end(console, timing, _own_name())


async def _play(folder: Path) -> tuple[Stage, list[Finding], Timing]:
    with messages().status("Starting a database and loading a few weeks of memories ..."):
        async with open_stage(folder) as stage:
            findings = [await ask(stage, question) for question in QUESTIONS]
            return stage, findings, await measure(stage)


def _own_name() -> str:
    """What to type to run this program again: ``engram`` where the shell finds it, else the way to it."""
    script = Path(sys.argv[0]).absolute()
    found = shutil.which("engram")
    if script.name != "engram" or (found is not None and Path(found).samefile(script)):
        return "engram"
    path = os.path.relpath(script)
    return str(script) if path.startswith("..") else path
