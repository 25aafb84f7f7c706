"""Any server that speaks OpenAI's embeddings API: OpenAI, Ollama, vLLM, TEI, LM Studio and others."""

from __future__ import annotations

import openai
import structlog

from engram.embeddings.base import Embedder, EmbeddingModel
from engram.embeddings.catalogue import Traits, prefixes_for, threshold_for, traits_of
from engram.embeddings.errors import (
    EmbedderNotReadyProblem,
    EmbeddingProblem,
    PassingProblem,
    Source,
    public_url,
)
from engram.embeddings.local import require_dimension
from engram.embeddings.openai_encoder import OpenAIEncoder
from engram.embeddings.pipeline import Capacity, TextEmbedder
from engram.embeddings.tokens import estimated_tokens
from engram.proxies import PAST_PROXIES
from engram.settings import Settings

DEFAULT_MODEL = "text-embedding-3-small"

# OpenAI takes 2,048 texts and 300,000 tokens a call. A server on someone's CPU needs to be done before the
# time-out.
_CALL_TEXTS = 256
_CALL_BYTES = 512 * 1024
_OTHER_CALL_BYTES = 64 * 1024

# Local servers want no key, the SDK wants one.
_NO_KEY = "not-needed"

logger = structlog.get_logger(__name__)


async def open_embedder(settings: Settings) -> Embedder:
    """Connects, and finds out the dimension by embedding one word. Raises ``EmbedderNotReadyProblem``.

    A server that is away, slow or busy does not stop the start where the dimension is known from the settings
    or the model's name; the first text to embed then says what is wrong.
    """
    name = settings.embedding_model or DEFAULT_MODEL
    traits = traits_of(name)
    client = _client(settings, name)
    source = Source("openai", name, public_url(str(client.base_url)))
    encoder = OpenAIEncoder(client, source, settings, call_texts=_CALL_TEXTS)
    try:
        dimension = await _dimension(encoder, settings, traits)
    except BaseException:
        await encoder.aclose()
        raise
    model = EmbeddingModel(
        provider="openai",
        name=name,
        dimension=dimension,
        max_tokens=traits.max_tokens,
        thematic_threshold=threshold_for(settings, traits.thematic_threshold),
    )
    capacity = Capacity(
        piece=traits.max_tokens,
        count=estimated_tokens,
        texts=_CALL_TEXTS,
        size=_CALL_BYTES if settings.embedding_base_url is None else _OTHER_CALL_BYTES,
    )
    return TextEmbedder(encoder, model, capacity, prefixes_for(settings, traits.prefixes))


def _client(settings: Settings, model: str) -> openai.AsyncOpenAI:
    base_url = settings.embedding_base_url
    key = settings.embedding_api_key.get_secret_value() if settings.embedding_api_key else None
    if base_url is not None:
        if not base_url.startswith(("http://", "https://")):
            raise EmbedderNotReadyProblem(
                Source("openai", model), "needs an EMBEDDING_BASE_URL that starts with http:// or https://."
            )
        key = key or _NO_KEY  # and not the environment's OPENAI_API_KEY, which is for OpenAI alone
    try:
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=base_url,
            timeout=settings.embedding_timeout,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(mounts=PAST_PROXIES),
        )
    except openai.OpenAIError:
        raise EmbedderNotReadyProblem(
            Source("openai", model),
            "needs a key: set EMBEDDING_API_KEY, or EMBEDDING_BASE_URL for another server.",
        ) from None


async def _dimension(encoder: OpenAIEncoder, settings: Settings, traits: Traits) -> int:
    known = settings.embedding_dimension or traits.dimension
    try:
        dimension = await encoder.probe(patient=known is None)
    except PassingProblem as problem:
        if known is None:
            raise EmbedderNotReadyProblem.because(
                problem,
                "The dimension of its vectors is not known, so the server cannot start without it: set "
                "EMBEDDING_DIMENSION to start now.",
            ) from None
        logger.warning("the embedding provider is away; starting without it", reason=problem.detail)
        return known
    except EmbeddingProblem as problem:
        raise EmbedderNotReadyProblem.because(problem) from None
    require_dimension(settings, dimension, encoder.source)
    return dimension
