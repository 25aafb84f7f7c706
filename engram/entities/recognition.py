"""Finding known names in text: the longest name at each place, whole words only.

Names are looked up by their *opening*, the first two words (or the only one): a text offers its own words and pairs of
neighbours, the store answers with the names that open so, and a trie finds them. What a text costs depends on the
text, not on how many names the agent knows; and no process keeps a matcher that another one's write makes stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import cast

from engram.entities.canonical import singular
from engram.text.words import fold, runs, words

# Where a name ends in the trie; no word is empty.
_END = ""

# Stands between two runs of a script without spaces: the end of one and the beginning of the next are no word.
_GAP = " "

_TELLING = 3
"""Letters and digits below which words alone tell nothing: C++ is not every C."""


def opening(name: str) -> str:
    """The first two words of a canonical name, by which it is looked up; empty for one without words."""
    return " ".join(parts_of(name)[:2])


def openings(text: str) -> set[str]:
    """Every opening of which a name could stand in the text."""
    return openings_in(parts_of(text))


def openings_in(parts: Sequence[str]) -> set[str]:
    """The same for a text whose ``parts_of`` are these."""
    found = {*parts}
    found.update(f"{previous} {word}" for previous, word in pairwise(parts))
    for at, word in enumerate(parts):
        if (ending := singular(word)) is not word:
            found.add(ending)
            if at:
                found.add(f"{parts[at - 1]} {ending}")
    return found


class NameMatcher:
    """Finds names in texts. A name's last word also matches its plural, as the canonical form has it singular."""

    def __init__(self, names: Iterable[str], *, ignored: frozenset[str] = frozenset()) -> None:
        """``names`` are canonical. A name made only of ``ignored`` words (stop words) is never recognised."""
        self._trie: dict[str, object] = {}
        for name in sorted(names):
            parts = parts_of(name)
            if not parts or all(part in ignored for part in parts):
                continue
            node: dict[str, object] = self._trie
            for part in parts:
                node = node.setdefault(part, {})  # type: ignore[assignment]
            node[_END] = (*cast(tuple[str, ...], node.get(_END, ())), name)

    def find(self, text: str) -> set[str]:
        """The names that stand in the text."""
        return self.find_in(text, parts_of(text))

    def find_in(self, text: str, parts: Sequence[str]) -> set[str]:
        """The same for a text whose ``parts_of`` are these."""
        ends: set[tuple[str, ...]] = set()
        at = 0
        while at < len(parts):
            # No name begins with most words.
            if parts[at] not in self._trie and singular(parts[at]) not in self._trie:
                at += 1
                continue
            names, length = self._longest(parts, at)
            if names:
                ends.add(names)
            at += max(length, 1)
        return {name for names in ends for name in _meant(names, text)}

    def _longest(self, parts: Sequence[str], start: int) -> tuple[tuple[str, ...], int]:
        """All names of the most words that stand at one place: they differ in punctuation only."""
        node: Mapping[str, object] | None = self._trie
        best: tuple[tuple[str, ...], int] = ((), 0)
        for length, part in enumerate(islice(parts, start, None), start=1):
            assert node is not None
            for ending in (singular(part), part):
                last = node.get(ending)
                if isinstance(last, dict) and _END in last:
                    best = (cast(tuple[str, ...], last[_END]), length)
            step = node.get(part)
            if not isinstance(step, dict):
                break
            node = step
        return best


def _meant(names: Sequence[str], text: str) -> Sequence[str]:
    """Of names with the same words those that the text spells out; else the first, whatever its punctuation."""
    telling = [name for name in names if sum(map(len, words(name))) >= _TELLING]
    if len(names) == len(telling) == 1:
        return names
    spelt = " ".join(fold(text).split())
    return [name for name in names if name in spelt] or telling[:1]


def parts_of(text: str) -> list[str]:
    """Words, and the gaps between words that could be taken for one."""
    parts: list[str] = []
    after_unspaced = False
    for run, unspaced in runs(fold(text)):
        if unspaced and after_unspaced:
            parts.append(_GAP)
        parts.extend(run if unspaced else (run,))
        after_unspaced = unspaced
    return parts
