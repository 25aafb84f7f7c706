"""What can go wrong with an embedding, one class per failure. Messages name the provider, no credential."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from engram.problems import ConfigurationProblem, Problem, UnavailableProblem


@dataclass(frozen=True, slots=True)
class Source:
    """Who was asked. ``base_url`` must be free of credentials (see ``public_url``)."""

    provider: str
    model: str
    base_url: str | None = None

    def __str__(self) -> str:
        place = f" at {self.base_url}" if self.base_url else ""
        return f"The embedding provider {self.provider} (model {self.model}{place})"


def public_url(url: str) -> str:
    """``url`` without user, password, query and fragment, any of which may hold a secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class EmbeddingProblem(Problem):
    """Base of all failures to embed. ``source`` says who failed."""

    status = 502
    type = "embedding-failed"
    title = "The embedding provider failed"

    def __init__(self, source: Source, what: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"{source} {what}", retry_after=retry_after)
        self.source = source
        self.what = what


class WrongDimensionProblem(EmbeddingProblem):
    type = "embedding-wrong-dimension"
    title = "The embedding has the wrong dimension"

    def __init__(self, source: Source, *, expected: int, got: int) -> None:
        super().__init__(
            source,
            f"returned a vector of {got} dimensions where {expected} were expected. Check EMBEDDING_MODEL "
            "and EMBEDDING_DIMENSION, and whether the server has changed its model.",
        )


class WrongCountProblem(EmbeddingProblem):
    type = "embedding-wrong-count"
    title = "The embedding provider returned too few or too many vectors"

    def __init__(self, source: Source, *, expected: int, got: int) -> None:
        super().__init__(
            source,
            f"returned {got} vectors for {expected} texts. Nothing was stored; the fault is the server's.",
        )


class NotFiniteProblem(EmbeddingProblem):
    type = "embedding-not-finite"
    title = "The embedding is not finite"

    def __init__(self, source: Source) -> None:
        super().__init__(
            source,
            "returned a vector with NaN or infinite numbers. Nothing was stored. Models in half precision do "
            "this on some hardware: run the model in float32.",
        )


class MalformedAnswerProblem(EmbeddingProblem):
    type = "embedding-malformed-answer"
    title = "The embedding provider's answer could not be read"

    def __init__(self, source: Source, why: str) -> None:
        super().__init__(
            source,
            f"answered with something other than embeddings ({why}). Check that EMBEDDING_BASE_URL is the "
            "address of an OpenAI-compatible API; most end in /v1.",
        )


class PassingProblem(EmbeddingProblem):
    """Base of the failures that pass: trying again may help."""


class TimedOutProblem(PassingProblem):
    status = 504
    type = "embedding-timed-out"
    title = "The embedding provider took too long"

    def __init__(self, source: Source, *, seconds: float) -> None:
        super().__init__(source, f"did not answer within {seconds:g} seconds. Try again, or raise EMBEDDING_TIMEOUT.")


class RateLimitedProblem(PassingProblem, UnavailableProblem):
    """Too many requests for the provider; ``retry_after`` is what it asked for, in seconds, where it did."""

    status = 503
    type = "embedding-rate-limited"
    title = "The embedding provider asks to slow down"

    def __init__(self, source: Source, *, retry_after: float | None) -> None:
        when = "later" if retry_after is None else f"in {retry_after:g} seconds"
        super().__init__(source, f"refused for too many requests (429). Try again {when}.", retry_after=retry_after)


class ProviderFailedProblem(PassingProblem):
    """The provider answered with a 5xx."""

    type = "embedding-provider-failed"
    title = "The embedding provider had an error"

    def __init__(self, source: Source, *, code: int, retry_after: float | None = None) -> None:
        super().__init__(source, f"failed with HTTP {code}. Try again, or look at its logs.", retry_after=retry_after)


class UnreachableProblem(PassingProblem, UnavailableProblem):
    status = 503
    type = "embedding-unreachable"
    title = "The embedding provider cannot be reached"

    def __init__(self, source: Source, why: str) -> None:
        super().__init__(source, f"cannot be reached ({why}). Check that it runs, and EMBEDDING_BASE_URL.")


class RefusedProblem(EmbeddingProblem):
    """The provider will not do it, however often it is asked; ``what`` says what to change."""

    type = "embedding-refused"
    title = "The embedding provider refused"


class TextTooLongProblem(RefusedProblem):
    type = "embedding-text-too-long"
    title = "The text is too long for the embedding model"


class BatchTooLargeProblem(RefusedProblem):
    type = "embedding-batch-too-large"
    title = "Too many texts for one call of the embedding provider"


class EmbedderNotReadyProblem(EmbeddingProblem, ConfigurationProblem):
    """The embedder cannot be opened as configured. Shown at start."""

    status = 500
    type = "embedder-not-ready"
    title = "The embedder cannot start"

    @classmethod
    def because(cls, problem: EmbeddingProblem, advice: str = "") -> EmbedderNotReadyProblem:
        """What stopped the embedder from opening was ``problem``."""
        return cls(problem.source, f"{problem.what} {advice}".rstrip())
