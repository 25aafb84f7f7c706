"""What names a node of the fact graph, a predicate, and the words by which a query finds nodes. Pure.

Two spellings are one node exactly where they differ in case and white space only. Nothing is matched fuzzily: a wrong
merge that nobody sees is worse than one that is missing, and a merge can be said.
"""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APART = re.compile(r"[\s-]+")
_WORD = re.compile(r"[^\W_]{3,}")


def node_name(text: str) -> str:
    """The node that a subject or an object names: case folded, trimmed, white space collapsed. May be empty."""
    return " ".join(text.casefold().split())


def predicate_name(text: str) -> str:
    """A predicate in its one spelling, lower snake case: ``nameIs``, ``name-is`` and ``name is`` are ``name_is``.

    What holds no letter, digit, hyphen or space stays as it is.
    """
    return _APART.sub("_", _CAMEL.sub("_", text.strip())).strip("_").lower()


def words_of(text: str) -> set[str]:
    """The words by which nodes are found: runs of letters and digits of any script, case folded, of at least three
    characters. There are no stop words."""
    return set(_WORD.findall(text.casefold()))
