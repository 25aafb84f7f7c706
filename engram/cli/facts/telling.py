"""Facts as a person reads them."""

from __future__ import annotations

from datetime import datetime

from rich.text import Text

from engram.cli.text import excerpt
from engram.facts.schemas import FactStatus, StoredFact

_CHARS = 120


def said(fact: StoredFact) -> str:
    """``Alice —works_at→ Acme``, on one line."""
    return f"{excerpt(fact.subject, _CHARS)} —{excerpt(fact.predicate, _CHARS)}→ {excerpt(fact.object, _CHARS)}"


def holds(fact: StoredFact) -> Text:
    """When it holds: ``2024-01-01 to 2024-02-01``, or that it is not believed."""
    if fact.status is not FactStatus.standing:
        return Text(fact.status.value, "red")
    if fact.valid_until is None:
        return Text(f"since {moment(fact.valid_from)}")
    ended = "dim" if fact.superseded_by is not None else ""
    return Text(f"{moment(fact.valid_from)}\nto {moment(fact.valid_until)}", ended)


def moment(at: datetime) -> str:
    """A date; with the time where it is not the beginning of a day."""
    midnight = (at.hour, at.minute, at.second, at.microsecond) == (0, 0, 0, 0)
    return f"{at:%Y-%m-%d}" if midnight else f"{at:%Y-%m-%d %H:%M:%S}"
