"""The canonical form of a name: one function, used on every write, read and filter.

Two spellings name the same entity exactly when their canonical forms are equal. Nothing is matched fuzzily.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from engram.text.words import has_unspaced

if TYPE_CHECKING:
    import inflect

MAX_NAME_CHARS = 256


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST_PERSON = word_set("i me my mine myself we us our ours ourselves")
_DETERMINERS = word_set(
    "a an the this that these those my your his her its our their some any each every either neither"
)
_PRONOUNS = word_set(
    "you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs"
    " themselves one oneself who whom whose which what someone somebody something anyone anybody anything everyone"
    " everybody everything nobody nothing none this that these those"
)
INTERJECTIONS = word_set("oh ah hey hello hi wow yeah yes yep nope okay ok please thanks hmm huh ugh oops alas")
_LIGHT_VERBS = word_set(
    "be is are was were been being am do does did done doing have has had having get gets got getting make makes made"
    " making take takes took taken taking give gives gave given giving go goes went gone going let lets"
)
_DROPPED = _DETERMINERS | _PRONOUNS | INTERJECTIONS | _LIGHT_VERBS
# Singular forms that end like a plural: analysis, status, glass.
_SINGULAR_ENDINGS = ("ss", "us", "is")
# No plural that the library knows ends otherwise; to ask it of every other word takes half a millisecond for each.
_PLURAL_ENDINGS = (
    *("s", "men", "ren", "xen", "a", "i", "eople", "ice", "ae", "eese", "feet", "eeth", "im", "eaux"),
    *("they", "them"),
)
# What shows nothing and says nothing: soft hyphens, marks of direction, variants of emoji. Joiners do say something.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff]")
_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"
_IDENTIFIER = re.compile(r"(?P<kind>commit|error):(?P<name>[^\s`\"'*_<\[].*)", re.IGNORECASE | re.DOTALL)
_POSSESSIVE = re.compile(r"(?:['\u2019\u02bc]s|(?<=s)['\u2019\u02bc])$", re.IGNORECASE)
_SHORTEST = 3
# No noun is longer.
_LONGEST = 64
_SHORTEST_UNSPACED = 2


def canonical_name(raw: str) -> str | None:
    """The canonical form of a name, or None where nothing is left that could name an entity.

    Dropped are pronouns, interjections, light verbs, names of two characters or fewer (of one in scripts written
    without spaces), and names over 256 characters before or after NFKC.
    """
    if len(raw) > MAX_NAME_CHARS:
        return None
    text = " ".join(_INVISIBLE.sub("", unicodedata.normalize("NFKC", raw)).split())
    if len(text) > MAX_NAME_CHARS:
        return None
    text = text.strip(_QUOTES + " ")
    if _IDENTIFIER.fullmatch(text):
        return text.casefold()
    name = _bare(text)
    spoken = name.casefold()
    if spoken in FIRST_PERSON:
        return "user"
    if spoken in _DROPPED:
        return None
    *front, last = name.split(" ")
    name = " ".join([*front, _singular(last)]).casefold()
    shortest = _SHORTEST_UNSPACED if has_unspaced(name) else _SHORTEST
    return None if name in _DROPPED or len(name) < shortest else name


def singular(word: str) -> str:
    """The singular of a folded English noun; any other word as it is."""
    if not word.endswith(_PLURAL_ENDINGS) or word.endswith(_SINGULAR_ENDINGS) or not _inflects(word):
        return word
    return _inflected(word)


@lru_cache(maxsize=65536)
def _inflected(word: str) -> str:
    return _engine().singular_noun(word) or word


def plural_name(name: str) -> str:
    """A canonical name with its last word in the plural, where that is an English noun."""
    *front, last = name.split(" ")
    if not _inflects(last):
        return name
    return " ".join([*front, _engine().plural_noun(last)])


def _singular(word: str) -> str:
    # In capitals it is an acronym, with digits an identifier: neither has a plural of its own.
    return word if word.isupper() else singular(word.casefold())


def _inflects(word: str) -> bool:
    return _SHORTEST < len(word) <= _LONGEST and word[-1].isascii() and word.isalpha()


@cache
def _engine() -> inflect.engine:
    # Imported at the first plural: the library takes over a second to load, which a start should not wait for.
    import inflect  # noqa: PLC0415

    return inflect.engine()


def _bare(text: str) -> str:
    """Without quotes, possessives and determiners around it, whatever stands inside what: the "Alice"'s."""
    while True:
        bare = _without_determiners(_POSSESSIVE.sub("", text.strip(_QUOTES + " ")))
        if bare == text:
            return bare
        text = bare


def _without_determiners(text: str) -> str:
    first, _, rest = text.partition(" ")
    while rest and first.casefold() in _DETERMINERS:
        text = rest
        first, _, rest = text.partition(" ")
    return text
