"""Whether the ends of a relation stand in the text of its memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from engram.entities.canonical import FIRST_PERSON
from engram.entities.recognition import NameMatcher
from engram.facts.schemas import Provenance

MAX_TEXT_CHARS = 100_000
"""Names are looked for in this much of a text's beginning."""

USER = "user"
_WORD = re.compile(r"[^\W_]+")


def standing_in(text: str, names: Mapping[str, Collection[str]]) -> set[str]:
    """Canonical names that stand in a text, themselves or as one of their spellings. The user stands wherever somebody
    speaks of himself."""
    text = text[:MAX_TEXT_CHARS]
    found = NameMatcher(names).find(text)
    folded = text.casefold()
    for name in names.keys() - found:
        if any(_stands(spelling.casefold(), folded) for spelling in names[name]):
            found.add(name)
    if USER in names and USER not in found:
        found |= {USER} if FIRST_PERSON.intersection(_WORD.findall(folded)) else set()
    return found


def provenance(subject: str, object: str, standing: Collection[str]) -> Provenance:
    """Of a relation between two names."""
    return Provenance.extracted if subject in standing and object in standing else Provenance.inferred


def _stands(spelling: str, text: str) -> bool:
    # Word boundaries only where the spelling has a word there: C++ ends in none.
    before = r"(?<!\w)" if spelling[:1].isalnum() else ""
    behind = r"(?!\w)" if spelling[-1:].isalnum() else ""
    return re.search(f"{before}{re.escape(spelling)}{behind}", text) is not None
