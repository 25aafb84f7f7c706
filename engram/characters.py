"""Which characters a text may hold: the checks, and the same as patterns for a JSON Schema. Pure.

The patterns are regular expressions that ECMAScript, Python and Rust read alike. What the checks allow they allow, and
they refuse most of what the checks refuse.
"""

from __future__ import annotations

import re
import unicodedata

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})

# What of _INVISIBLE is in Unicode's first plane: a class with more is read differently from engine to engine.
_BLANK = (
    r"\u0000-\u0020\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff\ufff9-\ufffb"
)


def _pattern(refused: str) -> str:
    """Texts without the refused characters that show something."""
    return f"^[^{refused}]*[^{_BLANK}][^{refused}]*$"


STORABLE = r"^[^\u0000]*$"
TEXT = _pattern(r"\u0000")
LABEL = _pattern(r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f")
NAME = _pattern(r"\u0000-\u0008\u000e-\u001b\u007f")
"""What Python calls white space is allowed in a name, and collapses."""


def storable(text: str) -> str:
    """Postgres stores neither NUL nor lone surrogates. Raises ValueError."""
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"must not contain lone surrogates (character {error.start})") from None
    return text


def printable(text: str) -> str:
    """No control characters but tabs and line ends: they break line tools. Raises ValueError."""
    if _CONTROL.search(text):
        raise ValueError("must not contain control characters")
    return text


def not_blank(text: str) -> str:
    """Not blank, and not made only of characters that show nothing (zero-width spaces, joiners, controls).

    A character that this Python's tables do not know may be an emoji of this year. Raises ValueError.
    """
    if all(unicodedata.category(char) in _INVISIBLE for char in text):
        raise ValueError("must not be blank")
    return text


def one_line(text: str) -> str:
    return " ".join(text.split())
