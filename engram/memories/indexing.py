"""What a memory is found by, as a pure function of its row: the terms of its text, of what it
states, of its date and of who it is about.

However a row came about, written, changed, restored or imported, the same row has the same terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from engram.facts.statements.wording import worded
from engram.memories.rows import IndexedTerms
from engram.text.fields import about_terms, date_terms, speaker
from engram.text.terms import analyzer_for


def terms_of(
    content: str,
    *,
    declared: Sequence[Mapping[str, str]],
    relations: Sequence[Mapping[str, Any]],
    session_id: str | None,
    valid_from: datetime,
    language: str,
) -> IndexedTerms:
    """The terms of a memory. ``declared`` is what it declares of entities, as the row holds it: names and roles; what
    it states in ``relations`` counts as its text does."""
    analyzer = analyzer_for(language)
    words, phrases = analyzer.document(f"{content}\n{worded(relations)}" if relations else content)
    about = [entity["name"] for entity in declared if entity["role"] == "subject"]
    # A turn of a session is about its speaker too.
    says = speaker(content) if session_id is not None else None
    fields = about_terms(analyzer, [*about, says] if says else about) | date_terms(valid_from)
    return IndexedTerms.of(words, fields | phrases)
