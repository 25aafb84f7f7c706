"""What the providers share that run a model in this process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
import structlog

from engram.embeddings.errors import EmbedderNotReadyProblem, Source
from engram.settings import Settings

T = TypeVar("T")

logger = structlog.get_logger(__name__)

# Attention takes memory by the square of the length. Models that read more get their text in such pieces.
LONGEST_PIECE = 2048

_REACH_SECONDS = 5.0


class Worker:
    """One thread that owns a model.

    The libraries spread one call over all cores by themselves, and their tokenizers fail in two threads at
    once.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engram-embed")

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)

    def close(self) -> None:
        """Let go of the thread. What it is doing is finished; what waits is dropped."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def load_model(source: Source, load: Callable[[bool], T], *, downloadable: bool = True) -> T:
    """``load(True)`` from this machine alone, else, if the model hub can be reached, ``load(False)``.

    Left to themselves the libraries ask the hub even for a model that is here, and try for a minute when the
    hub is away. Raises ``EmbedderNotReadyProblem``.
    """
    try:
        return load(True)
    except Exception as error:
        missing = _first_line(error)
        if not downloadable:
            raise EmbedderNotReadyProblem(source, f"could not load its model: {missing}") from error
    if obstacle := _hub_obstacle():
        raise EmbedderNotReadyProblem(
            source,
            f"needs a model that is not on this machine, and {obstacle}. Download it once where there is a "
            "network and copy the cache, or set EMBEDDING_MODEL to a model that is here, or use "
            f"EMBEDDING_PROVIDER=static, which needs no download. (Loading said: {missing})",
        )
    logger.info("downloading the embedding model", provider=source.provider, model=source.model)
    try:
        return load(False)
    except Exception as error:
        raise EmbedderNotReadyProblem(source, f"could not load its model: {_first_line(error)}") from error


def _hub_obstacle() -> str | None:
    """Why nothing can be downloaded, or None."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().lower() in {"1", "true", "yes", "on"}:
        return "HF_HUB_OFFLINE forbids to download it"
    hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        httpx.head(hub, timeout=_REACH_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"the model hub {hub} cannot be reached ({_first_line(error) or type(error).__name__})"
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def require_dimension(settings: Settings, dimension: int, source: Source) -> None:
    """Raise ``EmbedderNotReadyProblem`` where the settings expect another dimension than the model has."""
    expected = settings.embedding_dimension
    if expected not in (None, dimension):
        raise EmbedderNotReadyProblem(
            source,
            f"makes vectors of {dimension} dimensions, but EMBEDDING_DIMENSION is {expected}. Unset it, or "
            "choose another model.",
        )
