"""What is known of well-known models and cannot be asked of them: prefixes, reading length, cosine range."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.settings import Settings

DEFAULT_THEMATIC_THRESHOLD = 0.6


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model wants in front of a text, to know a question from what may answer it."""

    query: str = ""
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Traits:
    """The defaults are safe for a model that is not known. ``dimension`` is None where it must be asked."""

    prefixes: Prefixes = Prefixes()
    max_tokens: int = 512
    thematic_threshold: float = DEFAULT_THEMATIC_THRESHOLD
    dimension: int | None = None


_INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_SEARCHING = Prefixes(query="Represent this sentence for searching relevant passages: ")

# The first match wins. Patterns are searched for in the lower-cased name, so that they find "intfloat/e5-base-v2",
# "e5-base-v2:latest" and "/models/e5-base-v2" alike. The thresholds of E5 and MiniLM are measured: one pair in a
# hundred of the turns of a conversation reaches them. The others follow the range of cosines that a model is known for.
_KNOWN: list[tuple[str, Traits]] = [
    (r"text-embedding-3-small", Traits(max_tokens=8191, dimension=1536)),
    (r"text-embedding-3-large", Traits(max_tokens=8191, dimension=3072)),
    (r"text-embedding-ada-002", Traits(max_tokens=8191, thematic_threshold=0.88, dimension=1536)),
    (r"e5-.*instruct", Traits(Prefixes(query=_INSTRUCTION), thematic_threshold=0.92)),
    (r"\be5[-_]", Traits(Prefixes("query: ", "passage: "), thematic_threshold=0.92)),
    (r"bge-m3", Traits(max_tokens=8192)),
    (r"bge-.*zh", Traits(Prefixes(query="为这个句子生成表示以用于检索相关文章："), thematic_threshold=0.75)),
    (r"bge-", Traits(_SEARCHING, thematic_threshold=0.75)),
    (r"nomic-embed", Traits(Prefixes("search_query: ", "search_document: "), max_tokens=2048)),
    (r"mxbai-embed", Traits(_SEARCHING)),
    (r"arctic-embed.*v2", Traits(Prefixes(query="query: "), max_tokens=8192)),
    (r"arctic-embed", Traits(_SEARCHING)),
    (
        r"embeddinggemma",
        Traits(Prefixes("task: search result | query: ", "title: none | text: "), max_tokens=2048),
    ),
    (r"qwen3-embedding", Traits(Prefixes(query=_INSTRUCTION), max_tokens=8192)),
    (r"gte-.*(v1\.5|multilingual)", Traits(max_tokens=8192)),
    (r"\bgte-", Traits(thematic_threshold=0.87)),
    (r"jina-embeddings", Traits(max_tokens=8192)),
    (r"all[-_]minilm", Traits(max_tokens=256, thematic_threshold=0.68)),
    (r"paraphrase-", Traits(max_tokens=128)),
]


def traits_of(model: str) -> Traits:
    """What is known of ``model``; for one that is not known, choices that do no harm."""
    name = model.lower()
    return next((traits for pattern, traits in _KNOWN if re.search(pattern, name)), Traits())


def prefixes_for(settings: Settings, own: Prefixes) -> Prefixes:
    """The prefixes to use: the settings' where given (empty means none), else the model's ``own``."""
    query, passage = settings.embedding_query_prefix, settings.embedding_passage_prefix
    return Prefixes(query=own.query if query is None else query, passage=own.passage if passage is None else passage)


def threshold_for(settings: Settings, own: float) -> float:
    return own if settings.thematic_threshold is None else settings.thematic_threshold
