"""Figures with the machine they were taken on, as one JSON document."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from pydantic import BaseModel

from benchmarks.figures import Figure
from benchmarks.store import Store
from engram import __version__


class Environment(BaseModel):
    """What the figures depend on beside the code."""

    measured_at: str
    engram: str
    commit: str | None
    python: str
    cpus: int
    machine: str
    memory_gb: float = 0
    postgres: str
    pgvector: str
    embedder: str


class Report(BaseModel):
    environment: Environment
    figures: list[Figure]


async def environment(store: Store) -> Environment:
    """Of this process, and of the Postgres that the store is on; the store is migrated."""
    async with store.connection() as connection:
        postgres = await connection.fetchval("SHOW server_version")
        pgvector = await connection.fetchval("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        model = await connection.fetchrow("SELECT provider, name, dimension FROM embedding_models")
    return Environment(
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        engram=__version__,
        commit=_commit(),
        python=platform.python_version(),
        cpus=os.cpu_count() or 1,
        machine=f"{platform.system()} {platform.machine()}",
        memory_gb=psutil.virtual_memory().total / 1024**3,
        postgres=postgres,
        pgvector=pgvector,
        embedder=f"{model['provider']}/{model['name']}, {model['dimension']} dimensions" if model else "none",
    )


def _commit() -> str | None:
    """The commit that is checked out, with a ``+`` where files differ from it."""

    def git(*arguments: str) -> str:
        folder = Path(__file__).parent
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout  # noqa: S607

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD").strip() + ("+" if changed.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def save(report: Report, path: Path) -> None:
    path.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read(path: Path) -> Report:
    """Raises OSError, and ValidationError for what is no report."""
    return Report.model_validate_json(path.read_text(encoding="utf-8"))
