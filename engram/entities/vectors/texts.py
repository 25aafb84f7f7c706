"""Which text stands for an entity: its name, and what memories say where they name it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from engram.entities.recognition import NameMatcher
from engram.text.sentences import sentences

MAX_SENTENCE = 300
"""Characters of what one memory says of an entity: a few hundred tell what it is, and more tell of other things."""


@dataclass(frozen=True, slots=True)
class EntityText:
    """``digest`` is of the text alone: where it is the same, so is the embedding."""

    text: str
    digest: bytes


def entity_text(name: str, display_name: str, contents: Sequence[str]) -> EntityText:
    """The text of an entity, by its canonical name and as it is spelt, from the beginnings of memories that name it."""
    matcher = NameMatcher([name])
    said = [_telling(matcher, content) for content in contents]
    text = "\n".join([display_name, *(one for one in said if one)])
    return EntityText(text, hashlib.sha256(text.encode()).digest())


def _telling(matcher: NameMatcher, content: str) -> str:
    """The first sentence that holds the name; of a memory that names the entity in no sentence, the first."""
    offered = [" ".join(sentence.split()) for sentence in sentences(content)]
    offered = [sentence for sentence in offered if sentence]
    if not offered:
        return ""
    holding = next((sentence for sentence in offered if matcher.find(sentence)), offered[0])
    return holding[:MAX_SENTENCE]
