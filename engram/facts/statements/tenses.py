"""Which spellings of a relation are one slot: present and past of a verb. Pure."""

from __future__ import annotations

WAS = "was_"

_ENDINGS = (("ied", "y"), ("ies", "y"), ("ed", ""), ("es", ""), ("s", ""))


def stem(predicate: str) -> str:
    """What ``works_at`` and ``worked_at`` have in common, ``located_in`` and ``was_located_in``.

    Only of regular verbs, and no word of any language: to be compared with other stems.
    """
    verb, _, rest = predicate.removeprefix(WAS).partition("_")
    for ending, left in _ENDINGS:
        if verb.endswith(ending) and len(verb) > len(ending) + 1:
            verb = verb.removesuffix(ending) + left
            break
    return f"{verb}_{rest}" if rest else verb


def is_past(predicate: str) -> bool:
    """Whether a name that is nobody's own looks like the past of another."""
    verb, _, _ = predicate.partition("_")
    return predicate.startswith(WAS) or verb.endswith("ed")
