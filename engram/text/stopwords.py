"""Words too common to tell memories apart, by language."""

from __future__ import annotations

from functools import lru_cache

from bm25s import stopwords as lists

_BY_LANGUAGE = {
    "english": lists.STOPWORDS_EN_PLUS,
    "german": lists.STOPWORDS_GERMAN,
    "dutch": lists.STOPWORDS_DUTCH,
    "french": lists.STOPWORDS_FRENCH,
    "spanish": lists.STOPWORDS_SPANISH,
    "portuguese": lists.STOPWORDS_PORTUGUESE,
    "italian": lists.STOPWORDS_ITALIAN,
    "russian": lists.STOPWORDS_RUSSIAN,
    "swedish": lists.STOPWORDS_SWEDISH,
    "norwegian": lists.STOPWORDS_NORWEGIAN,
    "danish": lists.STOPWORDS_DANISH,
    "turkish": lists.STOPWORDS_TURKISH,
}


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Stop words of a language, case-folded; of one without a list, none."""
    return frozenset(word.casefold() for word in _BY_LANGUAGE.get(language, ()))
