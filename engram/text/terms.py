"""Terms: what the lexical index holds of a text, and what it is asked for.

A word becomes its Snowball stem. A run of an unspaced script becomes its characters and their bigrams where it is
stored, and its bigrams where it is asked for, so that a word inside a longer run is found.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from itertools import islice

import Stemmer

from engram.text.stopwords import stop_words
from engram.text.words import fold, has_unspaced, runs

MAX_TERM_CHARS = 64
MAX_QUERY_TERMS = 512
MAX_TERMS = 50_000
"""Different terms of one text that are indexed: far more than a book has, and a bound on what a text can cost."""
MAX_FREQUENCY = 32767
"""What the index can hold of one term in one text: BM25 has long ceased to tell more apart."""

KNOWN_WORDS = 20_000
"""Words of a language whose stems are kept: most of what is ever read."""

UNSTEMMED = "none"
LANGUAGES = (UNSTEMMED, *sorted(Stemmer.algorithms()))
"""Languages an agent may have: Snowball's, and ``none``."""


_stems: dict[str, dict[str, str]] = {}


class Analyzer:
    """Terms of texts in one language. Not safe to share between threads: Snowball stemmers keep state."""

    def __init__(self, language: str) -> None:
        # Without a cache of its own: ours is shared by all threads.
        self._stemmer = None if language == UNSTEMMED else Stemmer.Stemmer(language, 0)
        self._stop_words = stop_words(language)
        self._known = _stems.setdefault(language, {})

    def document(self, text: str) -> tuple[Counter[str], set[str]]:
        """What ``document_terms`` and ``phrases`` say of a text, read once."""
        terms: list[str] = []
        phrases: dict[str, None] = {}
        before: str | None = None
        for run, unspaced in runs(fold(text)):
            if unspaced:
                terms.extend(_characters(run))
                before = None
            elif run not in self._stop_words:
                term = self._stem(run)
                terms.append(term)
                if before is not None and len(phrases) < MAX_TERMS:
                    phrases[f"{before} {term}"] = None
                before = term
        return _bounded(Counter(terms)), set(phrases)

    def document_terms(self, text: str) -> Counter[str]:
        """How often each term stands in a text; of very many the first ``MAX_TERMS``."""
        return self.document(text)[0]

    def query_terms(self, text: str) -> dict[str, int]:
        """Distinct terms of a query in order, at most ``MAX_QUERY_TERMS``, and how often each counts.

        A word counts once. A bigram counts as often as it stands: languages without spaces have no stop words here, and
        what a question repeats is what it is about.
        """
        counts = Counter(self._query_terms(text))
        return {term: count if has_unspaced(term) else 1 for term, count in islice(counts.items(), MAX_QUERY_TERMS)}

    def phrases(self, text: str, limit: int) -> list[str]:
        """Distinct pairs of neighbouring words, stop words between them left out, as two terms parted by a space.

        Of a script without spaces there are none: its bigrams are phrases already. At most ``limit``, in order.
        """
        found: dict[str, None] = {}
        before: str | None = None
        for run, unspaced in runs(fold(text)):
            if unspaced:
                before = None
            elif run not in self._stop_words:
                term = self._stem(run)
                if before is not None and len(found) < limit:
                    found.setdefault(f"{before} {term}")
                before = term
        return list(found)

    def _query_terms(self, text: str) -> list[str]:
        terms: list[str] = []
        for run, unspaced in runs(fold(text)):
            if unspaced:
                terms.extend(run if len(run) == 1 else _bigrams(run))
            elif run not in self._stop_words:
                terms.append(self._stem(run))
        return terms

    def _stem(self, word: str) -> str:
        if len(word) > MAX_TERM_CHARS:
            return self._stemmed(word.replace("'", ""))  # the cache is bounded by the number of its words
        if (term := self._known.get(word)) is None:
            if len(self._known) >= KNOWN_WORDS:
                self._known.clear()
            term = self._known[word] = self._stemmed(word.replace("'", ""))
        return term

    def _stemmed(self, word: str) -> str:
        if len(word) > MAX_TERM_CHARS:
            # A hash or a data URL: kept apart from its like, at a length that an index can hold.
            return word[:24] + "#" + hashlib.blake2s(word.encode(), digest_size=8).hexdigest()
        # Porter's first stemmer leaves nothing of "s".
        return (self._stemmer.stemWord(word) or word) if self._stemmer else word


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _characters(run: str) -> list[str]:
    """What the index holds of an unspaced run."""
    return [*run, *_bigrams(run)]


def _bounded(counts: Counter[str]) -> Counter[str]:
    return counts if len(counts) <= MAX_TERMS else Counter(dict(islice(counts.items(), MAX_TERMS)))


_local = threading.local()


def analyzer_for(language: str) -> Analyzer:
    """This thread's analyzer of a language."""
    analyzers: dict[str, Analyzer] = _local.__dict__.setdefault("analyzers", {})
    if language not in analyzers:
        analyzers[language] = Analyzer(language)
    return analyzers[language]
