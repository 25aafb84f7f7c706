"""Words of a text, in any script.

A word is a run of letters, marks and digits, an apostrophe inside it included. Scripts written without spaces
(Chinese, Japanese, Korean, Thai) have no such runs worth having: there every character is a word of its own, and
whoever needs longer units joins neighbours.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator

from engram.text.normal import normal

_UNSPACED = (
    "\u0e00-\u0e7f"  # Thai
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
)


def _marks() -> str:
    """All combining marks as ranges of a character class: ``re`` does not count them among word characters."""
    ranges: list[str] = []
    start = previous = -2
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] != "M" or "\u0e00" <= chr(code) <= "\u0e7f":
            continue
        if code != previous + 1:
            if start >= 0:
                ranges.append(f"{chr(start)}-{chr(previous)}")
            start = code
        previous = code
    ranges.append(f"{chr(start)}-{chr(previous)}")
    return "".join(ranges)


_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_LETTER = rf"(?:(?![{_UNSPACED}_])[\w{_marks()}])"
_WORD = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|{_LETTER}+(?:['\u2019\u02bc]{_LETTER}+)*")
# The same for text in ASCII, which most is, at a fifth of the cost.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
_PIECE = 65_536
_POSSESSIVE = re.compile(r"['\u2019\u02bc]s$")


def has_unspaced(text: str) -> bool:
    """Whether any of the text is in a script written without spaces."""
    return _UNSPACED_CHARACTER.search(text) is not None


def fold(text: str) -> str:
    """Compatibility-composed and case-folded: what compares equal whatever keyboard it came from."""
    if text.isascii():
        return text.lower()
    if len(text) <= _PIECE:
        return _folded(text)
    # In one call a long text would hold up all other threads: some characters become eighteen.
    return "".join(map(_folded, _pieces(text)))


def _folded(text: str) -> str:
    return normal("NFKC", text).casefold()


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces that can be folded one by one: none begins with what composes with the character before it."""
    start = 0
    while start < len(text):
        end = start + _PIECE
        while end < len(text) and _composes(text[end]):
            end += 1
        yield text[start:end]
        start = end


def _composes(char: str) -> bool:
    """Whether a character may become one with what stands before it: marks, and the inner letters of Hangul."""
    first = unicodedata.normalize("NFKD", char)[0]
    return unicodedata.category(first)[0] == "M" or "\u1160" <= first <= "\u11ff"


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """Words of folded text, in order, as ``(run, unspaced)``; a possessive ``'s`` is cut off."""
    if text.isascii():
        for run in _ASCII_WORD.findall(text):
            yield run.removesuffix("'s"), False
        return
    for match in _WORD.finditer(text):
        run = match.group()
        if match.lastgroup == "unspaced":
            yield run, True
        else:
            yield _POSSESSIVE.sub("", run).replace("\u2019", "'").replace("\u02bc", "'"), False


def words(text: str) -> list[str]:
    """Words of any text, folded; each character of an unspaced run is a word."""
    found: list[str] = []
    for run, unspaced in runs(fold(text)):
        if unspaced:
            found.extend(run)
        else:
            found.append(run)
    return found
