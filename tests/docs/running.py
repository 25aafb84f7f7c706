"""Running what a page shows, and comparing what comes out with what the page says comes out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.docs.pages import Page

DOCUMENTED_URL = "http://127.0.0.1:8080"

# What no two runs have in common.
_VARYING = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "<time>"),
    (re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"), "<time>"),
    (re.compile(r"engram_[\w-]{8}…"), "<key>"),
    (re.compile(r"[\d.]+( ms)\b"), r"<number>\1"),
    (re.compile(r'("took_ms": ?)[\d.]+'), r"\1<number>"),
    # Another machine adds up floats in another order.
    (re.compile(r"(\d\.\d{5})\d+"), r"\1"),
]
_MARK = "\x1e"


@dataclass(frozen=True)
class Shown:
    """A command of a console block, and the output printed below it."""

    command: str
    output: str


def lasting(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run_python(page: Page) -> Iterator[tuple[str, str | None]]:
    """What each Python block of a page prints, and what the page says of it. The blocks are one session."""
    printed: list[str] = []

    def show(*values: object) -> None:
        printed.append(" ".join(map(str, values)))

    # Not the real one: the server under test may write to the same stdout from its thread.
    session: dict[str, Any] = {"__name__": "__main__", "print": show}
    for block in page.blocks("python"):
        printed.clear()
        exec(compile(block.text, str(page), "exec"), session)
        yield "\n".join(printed), block.output


def shown_commands(page: Page) -> list[Shown]:
    """The commands of a page's console blocks, in order. A command goes on after a line that ends in a backslash."""
    found: list[Shown] = []
    for block in page.blocks("console"):
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            end = next(at for at, line in enumerate(lines) if not line.endswith("\\")) + 1
            found.append(Shown("\n".join(lines[:end]), "\n".join(lines[end:])))
    return found


def run_shell(commands: list[str], url: str, folder: Path) -> list[tuple[int, str]]:
    """Exit status and output (stderr too) of each command, run in one shell session against the server at ``url``."""
    programs = folder / "bin"
    programs.mkdir()
    for name, arguments in {"engram": "-m engram.cli", "python3": ""}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    script = "\n".join(f"{command}\nprintf '{_MARK}%s{_MARK}' $?" for command in commands)
    done = subprocess.run(
        ["bash", "-c", script.replace(DOCUMENTED_URL, url)],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "ENGRAM_BASE_URL": url,
            "PYTHONUTF8": "1",
            "COLUMNS": "100",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=240,
    )
    parts = done.stdout.split(_MARK)
    return [(int(status), output) for output, status in zip(parts[::2], parts[1::2], strict=False)]
