"""Results that are kept between runs, by what they depend on."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


class ResultCache:
    """A folder with a JSON file a result; None keeps nothing. A file that cannot be read is as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "results" if folder is not None else None

    def get(self, key: str, kind: type[M]) -> M | None:
        if self._folder is None:
            return None
        try:
            return kind.model_validate_json((self._folder / f"{key}.json").read_bytes())
        except (OSError, ValidationError):
            return None

    def put(self, key: str, result: BaseModel) -> None:
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / f"{key}.json", result.model_dump_json().encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that others see wholly or not at all. Raises OSError."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
