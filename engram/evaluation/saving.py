"""Runs on disk."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from engram.evaluation.cache import write_whole
from engram.evaluation.problems import EvaluationError
from engram.evaluation.runs import Run


def save_run(run: Run, path: Path) -> None:
    """Write a run, in place of what is there. Raises OSError."""
    write_whole(path, (run.model_dump_json(indent=1) + "\n").encode())


def read_run(path: Path) -> Run:
    """A saved run. Raises OSError, and EvaluationError for what is none."""
    try:
        return Run.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise EvaluationError(f"{path}: no run of engram eval{f', {field}' if field else ''}: {first['msg']}") from None
