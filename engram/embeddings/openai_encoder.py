"""One call to an OpenAI-compatible server, tried again where that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import openai
from pydantic import BaseModel, ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from engram.embeddings.checks import checked
from engram.embeddings.errors import (
    BatchTooLargeProblem,
    MalformedAnswerProblem,
    PassingProblem,
    Source,
    TimedOutProblem,
)
from engram.embeddings.openai_errors import problem_of
from engram.embeddings.pipeline import Purpose
from engram.settings import Settings

_back_off = wait_exponential(multiplier=0.5, max=8) + wait_random(0, 0.25)


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Item]


class OpenAIEncoder:
    """Vectors from a server, at most ``call_texts`` texts a call.

    The SDK's own retries must be off in ``client``: it sleeps for up to two minutes inside a request when the
    server says so. Here a server that asks for more patience than one attempt may take is not asked again,
    and the caller is told at once how long to wait.
    """

    def __init__(self, client: openai.AsyncOpenAI, source: Source, settings: Settings, *, call_texts: int) -> None:
        self.source = source
        self._client = client
        self._call_texts = call_texts
        self._timeout = settings.embedding_timeout
        self._attempts = settings.embedding_max_retries + 1
        # Only these models can shorten their vectors, and other servers refuse a field they do not know.
        shortens = "text-embedding-3" in source.model and settings.embedding_dimension is not None
        self._extra = {"dimensions": settings.embedding_dimension} if shortens else None

    async def encode(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        vectors: list[list[float]] = []
        done = 0
        while done < len(texts):
            part = texts[done : done + self._call_texts]
            try:
                vectors += await self._patiently(part)
            except BatchTooLargeProblem:
                if len(part) == 1:
                    raise
                self._call_texts = len(part) // 2  # and so it stays: servers do not announce their limit
            else:
                done += len(part)
        return vectors

    async def probe(self, *, patient: bool) -> int:
        """The dimension of what the server returns. Tries once, or, ``patient``, as often as any call."""
        texts = ["dimension"]
        vectors = await (self._patiently(texts) if patient else self._once(texts))
        dimension = len(vectors[0]) if vectors else 0
        checked(vectors, count=1, dimension=dimension, source=self.source)
        return dimension

    async def aclose(self) -> None:
        await self._client.close()

    async def _patiently(self, texts: Sequence[str]) -> list[list[float]]:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._attempts),
            wait=_pause,
            retry=retry_if_exception(self._worth_waiting),
            reraise=True,
        )
        return await retrying(self._once, texts)

    def _worth_waiting(self, error: BaseException) -> bool:
        return isinstance(error, PassingProblem) and (error.retry_after or 0) <= self._timeout

    async def _once(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            # The SDK's time-out is for the silence between two bytes, this one for the whole.
            async with asyncio.timeout(self._timeout):
                response = await self._client.embeddings.with_raw_response.create(
                    model=self.source.model,
                    input=list(texts),
                    encoding_format="float",
                    extra_body=self._extra,
                )
        # Not chained: what the server or the SDK says may repeat a credential.
        except openai.OpenAIError as error:
            raise problem_of(error, self.source, timeout=self._timeout, secret=self._client.api_key) from None
        except TimeoutError:
            raise TimedOutProblem(self.source, seconds=self._timeout) from None
        return self._read(response.http_response.content, len(texts))

    def _read(self, body: bytes, count: int) -> list[list[float]]:
        try:
            items = _Answer.model_validate_json(body).data
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise MalformedAnswerProblem(self.source, f"{where}: {first['msg']}".lstrip(": ")) from None
        if len(items) == count and {item.index for item in items} != set(range(count)):
            raise MalformedAnswerProblem(self.source, f"the indices of the vectors are not 0 to {count - 1}")
        return [item.embedding for item in sorted(items, key=lambda item: item.index)]


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, PassingProblem) else None
    return _back_off(state) if asked is None else asked
