"""Words too common to tell memories apart, by language."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _load() -> ModuleType:
    """bm25s's lists, and nothing else of bm25s: its package imports scipy where there is one, for 14 MB."""
    package = find_spec("bm25s")
    assert package is not None
    assert package.origin is not None
    spec = spec_from_file_location("bm25s_stopwords", Path(package.origin).with_name("stopwords.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_LISTS = _load()

_BY_LANGUAGE = {
    "english": _LISTS.STOPWORDS_EN_PLUS,
    "german": _LISTS.STOPWORDS_GERMAN,
    "dutch": _LISTS.STOPWORDS_DUTCH,
    "french": _LISTS.STOPWORDS_FRENCH,
    "spanish": _LISTS.STOPWORDS_SPANISH,
    "portuguese": _LISTS.STOPWORDS_PORTUGUESE,
    "italian": _LISTS.STOPWORDS_ITALIAN,
    "russian": _LISTS.STOPWORDS_RUSSIAN,
    "swedish": _LISTS.STOPWORDS_SWEDISH,
    "norwegian": _LISTS.STOPWORDS_NORWEGIAN,
    "danish": _LISTS.STOPWORDS_DANISH,
    "turkish": _LISTS.STOPWORDS_TURKISH,
}


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Stop words of a language, case-folded; of one without a list, none."""
    return frozenset(word.casefold() for word in _BY_LANGUAGE.get(language, ()))
