"""Text that others wrote, made safe and short for a terminal."""

from __future__ import annotations

import unicodedata

# Joiners hold emoji and the letters of some scripts together.
_JOINERS = "\u200c\u200d"


def one_line(text: str) -> str:
    """The text on one line, without what could steer a terminal: escapes, other controls, changes of direction."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() else "".join(map(_shown, line))


def excerpt(text: str, limit: int) -> str:
    """The beginning of a text on one line, at most ``limit`` characters, cut between words where that is near."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    words = cut.rpartition(" ")[0]
    return (words if len(words) > limit // 2 else cut).rstrip(" ,;:.") + "…"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 memory``, ``2 memories``: a number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _shown(char: str) -> str:
    match unicodedata.category(char):
        case "Cf":
            return char if char in _JOINERS else ""
        case "Cc" | "Cs" | "Co":
            return "\ufffd"
        case _:
            return char
