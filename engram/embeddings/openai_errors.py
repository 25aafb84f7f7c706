"""The SDK's exceptions, in the words of this package."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import openai

from engram.embeddings.errors import (
    BatchTooLargeProblem,
    EmbeddingProblem,
    ProviderFailedProblem,
    RateLimitedProblem,
    RefusedProblem,
    Source,
    TextTooLongProblem,
    TimedOutProblem,
    UnreachableProblem,
)

# There is no code for these that servers agree on, only sentences.
_LLAMA_CPP_LENGTH = "too large to process"  # goes on to name its "physical batch size", and comes as a 500
_BATCH = re.compile(r"batch|too many (inputs|texts)|number of inputs|tokens per request", re.IGNORECASE)
_LENGTH = re.compile(r"context (length|size)|too (long|large)|maximum.{0,30}tokens|less than \d+ tokens", re.IGNORECASE)

_LONGEST_QUOTE = 300


def problem_of(error: openai.OpenAIError, source: Source, *, timeout: float, secret: str) -> EmbeddingProblem:
    """The problem that ``error`` is. ``secret`` is taken out of whatever the server said."""
    if isinstance(error, openai.APITimeoutError):
        return TimedOutProblem(source, seconds=timeout)
    if isinstance(error, openai.APIStatusError):
        said = _quoted(_message(error), secret)
        return _too_much(error, source, said) or _passing(error, source, timeout) or _refused(error, source, said)
    cause = error.__cause__ or error
    return UnreachableProblem(source, _quoted(str(cause), secret) or type(cause).__name__)


def _too_much(error: openai.APIStatusError, source: Source, said: str) -> EmbeddingProblem | None:
    """Refused for its size: fewer or shorter texts may do."""
    code = error.status_code
    if code in (400, 413, 422, 500) and _LLAMA_CPP_LENGTH in said:
        return TextTooLongProblem(source, f"refused a text as too long (HTTP {code}: {said}).")
    if code not in (400, 413, 422):
        return None
    if _BATCH.search(said):
        return BatchTooLargeProblem(source, f"refused that many texts at once (HTTP {code}: {said}).")
    if code == 413 or _LENGTH.search(said):
        return TextTooLongProblem(source, f"refused a text as too long (HTTP {code}: {said}).")
    return None


def _passing(error: openai.APIStatusError, source: Source, timeout: float) -> EmbeddingProblem | None:
    code = error.status_code
    retry_after = _retry_after(error.response.headers)
    if code == 429 and error.code != "insufficient_quota":
        return RateLimitedProblem(source, retry_after=retry_after)
    if code == 408:
        return TimedOutProblem(source, seconds=timeout)
    if code >= 500:
        return ProviderFailedProblem(source, code=code, retry_after=retry_after)
    return None


def _refused(error: openai.APIStatusError, source: Source, said: str) -> RefusedProblem:
    code = error.status_code
    if code == 429:
        what = "says that the quota of this key is used up (HTTP 429). Check its plan and billing."
    elif code in (401, 403):
        # What it said is left out: servers repeat a part of the key here.
        what = f"refused the key (HTTP {code}). Check EMBEDDING_API_KEY and what that key may do."
    elif code in (404, 405):
        what = (
            f"does not know this address or this model (HTTP {code}: {said}). Check EMBEDDING_MODEL, and "
            "that EMBEDDING_BASE_URL is the address of the API, which mostly ends in /v1."
        )
    else:
        what = f"refused the request (HTTP {code}: {said}). Check EMBEDDING_MODEL."
    return RefusedProblem(source, what)


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        for name in ("message", "error", "detail"):
            if isinstance(body.get(name), str):
                return str(body[name])
    return error.message


def _quoted(text: str, secret: str) -> str:
    """``text`` on one line, cut short, without ``secret``."""
    line = " ".join((text.replace(secret, "***") if secret else text).split())
    return line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "..."


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``Retry-After`` asks for, as a number or as a date."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
