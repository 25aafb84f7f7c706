"""Names proposed by how they are written: runs of capitalised words. Pure; for ``ENGRAM_ENTITY_RECOGNITION=rules``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram.entities.canonical import INTERJECTIONS, MAX_NAME_CHARS, word_set

MAX_PROPOSALS = 32
MAX_WORDS = 6

_TOKEN = re.compile(r"[^\W\d_][\w'\u2019&-]*|[.!?:;\n]+|[^\s\w]+|\d\w*")
_ENDS_SENTENCE = re.compile(r"[.!?:;\n]")


# Capitalised without being names, or at the start of a sentence before one: "Thanks Zyra", "last Friday".
_ADDRESSES = word_set("thank congrats congratulations bye goodbye cheers sorry dear sir madam mr mrs ms dr")
_DATES = word_set(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
    " january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec last next"
)
_NO_NAMES = INTERJECTIONS | _ADDRESSES | _DATES
_CONTRACTED = re.compile(r"(?:['\u2019](?:m|re|ve|ll|d|s)|n['\u2019]t)$", re.IGNORECASE)


def proposed_names(text: str, stop_words: frozenset[str]) -> list[str]:
    """Runs of capitalised words in order, at most ``MAX_PROPOSALS``.

    Cut off at either end are stop words, contracted ones too, interjections, forms of address, and words of dates.
    One word or two at the start of a sentence are no proposal: English capitalises the first for its place, and "Ask
    Alice" is no name.
    """
    found: dict[str, None] = {}
    for run, opens_sentence in _runs(text):
        kept = [_may_name(word, stop_words) for word in run]
        if True not in kept:
            continue
        start, end = kept.index(True), len(kept) - kept[::-1].index(True)
        placed = opens_sentence and start == 0 and end <= 2
        name = " ".join(run[start:end])
        if not placed and end - start <= MAX_WORDS and len(name) <= MAX_NAME_CHARS:
            found.setdefault(name)
    return list(found)[:MAX_PROPOSALS]


def _may_name(word: str, stop_words: frozenset[str]) -> bool:
    folded = word.casefold()
    # "I'm" and "It's" are stop words with something behind; "Zyra's" is Zyra's.
    return folded not in _NO_NAMES and folded not in stop_words and _CONTRACTED.sub("", folded) not in stop_words


def _runs(text: str) -> Iterator[tuple[list[str], bool]]:
    """Neighbouring capitalised words, and whether the first opens a sentence."""
    run: list[str] = []
    at_start = opens = True
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token[0].isupper():
            opens = opens if run else at_start
            run.append(token)
            at_start = False
            continue
        if run:
            yield run, opens
            run = []
        at_start = bool(_ENDS_SENTENCE.search(token)) or (at_start and not token[0].isalnum())
    if run:
        yield run, opens
