"""Facts, names and questions to be drawn: few names, many spellings, windows that overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from engram.facts.names import node_name

DAYS = 8
USERS = (None, "ann")

NAMES = (
    *("bob", "Bob", "robert", "x9y", "x_9", "Ann-Marie", "R&D dept.", "é", "E\u0301mile", "Émile", "ÉMILE"),
    *("straße", "STRASSE", "İzmir", "izmir", "ﬁnance", "FINANCE", "ΣΊΣΥΦΟΣ", "σίσυφος", "東京都", "東京", "서울특별시"),
    *(
        "नमस्ते",
        "ab",
        "12345",
        "٣٤٥",
        "x²y³z",
        "a\u200bcme",
        "👩\u200d🔬 lab",
        "ŉgo",
        "DŽep",
        "acme",
        "ACME",
        "Tokyo Bay",
    ),
)
"""Names that fold to one, names that nearly do, and names without a word by which they are found."""

_SPELT = (
    str,
    str,
    str.upper,
    str.title,
    lambda name: f"  {name}\t",
    lambda name: name.replace(" ", " \u2003 "),
    lambda name: f"{name}\u00a0Ltd",
)

PREDICATES = ("works_at", "worksAt", "works-at", "Works  At", "knows", "kennt größe", "is")


def moment(day: float) -> datetime:
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day)


@st.composite
def names(draw: st.DrawFn) -> str:
    """A name as somebody writes it."""
    return draw(st.sampled_from(_SPELT))(draw(st.sampled_from(NAMES)))


@dataclass(frozen=True)
class Drawn:
    """A fact without an id. ``until`` counts days from its start; ``far`` puts its end into the future."""

    subject: str
    predicate: str
    object: str
    start: int
    until: int | None
    far: bool
    user_id: str | None

    @property
    def fields(self) -> dict[str, Any]:
        end = None if self.until is None else moment(self.start + self.until + 36_500 * self.far)
        return {
            "user_id": self.user_id,
            "subject": self.subject,
            "predicate": self.predicate,
            "object": self.object,
            "valid_from": moment(self.start),
            "valid_until": end,
        }


@st.composite
def histories(draw: st.DrawFn, *, least: int = 1, most: int = 14) -> list[Drawn]:
    """Facts in the order in which they come, among a handful of names. Some come twice.

    Of many most hold on, so that chains of them are found.
    """
    chained = least > 1
    known = draw(st.lists(names(), min_size=4 if chained else 2, max_size=6, unique_by=node_name if chained else None))
    predicates = draw(st.lists(st.sampled_from(PREDICATES), min_size=3 if chained else 1, max_size=4))
    ends = st.integers(1, 5)
    one = st.builds(
        Drawn,
        subject=st.sampled_from(known),
        predicate=st.sampled_from(predicates),
        object=st.sampled_from(known),
        start=st.integers(0, DAYS - 2),
        until=st.one_of(st.none(), st.none(), st.none(), ends) if chained else st.none() | ends,
        far=st.booleans(),
        user_id=st.sampled_from([None, None, None, "ann"]) if chained else st.sampled_from(USERS),
    )
    facts = draw(st.lists(one, min_size=least, max_size=most))
    return [*facts, *(replace(fact) for fact in facts[: draw(st.integers(0, 2))])]


def questions(facts: list[Drawn]) -> st.SearchStrategy[str]:
    """Texts that name some of what there is, and perhaps something else."""
    known = sorted({name for fact in facts for name in (fact.subject, fact.object)})
    words = st.lists(st.sampled_from(known), min_size=1, max_size=3)
    joined = st.builds(lambda named, between: between.join(named), words, st.sampled_from([" ", ", where is ", "?-"]))
    return st.one_of(joined, joined, joined, joined, names(), st.just(""))


instants = st.one_of(
    st.none(),
    st.none(),
    st.integers(-1, DAYS + 5).map(moment),
    # Just before a bound, and after all.
    st.integers(0, DAYS).map(lambda day: moment(day) - timedelta(microseconds=1)),
    st.just(moment(40_000)),
)


@st.composite
def merges(draw: st.DrawFn, facts: list[Drawn]) -> list[tuple[str, str]]:
    """Pairs of names, some of which nobody has."""
    known = sorted({name for fact in facts for name in (fact.subject, fact.object)})
    name = st.sampled_from(known) | names() | st.just("nobody")
    return draw(st.lists(st.tuples(name, name), max_size=3))
