from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.entities.canonical import MAX_NAME_CHARS
from engram.entities.proposals import MAX_PROPOSALS, MAX_WORDS, proposed_names
from engram.text.stopwords import stop_words

ENGLISH = stop_words("english")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yesterday I met Zyra Kline in Paris", ["Zyra Kline", "Paris"]),
        ("we use Postgres and Redis", ["Postgres", "Redis"]),
        ("met Zyra, Quill and Voss", ["Zyra", "Quill", "Voss"]),
        ("New York City is big", ["New York City"]),
        ("The Beatles played. Then Ringo left.", ["Beatles", "Ringo"]),
        ("a talk by Élodie Ångström", ["Élodie Ångström"]),
        ("вчера Марина Цветаева читала", ["Марина Цветаева"]),
        ("he works for AT&T and Coca-Cola", ["AT&T", "Coca-Cola"]),
        ("call Zyra and then Zyra again", ["Zyra"]),
        ("then I'm off and It's late, isn't It", []),
        ("Thanks Zyra, and Wow Quill", ["Zyra", "Quill"]),
        ("we met last Friday and on Monday, in May", []),
        ("ask Dr Voss about Zyra's plan", ["Voss", "Zyra's"]),
        ("Lunch was fine. Nothing else happened", []),
        ("Ask Alice first. Zyra Kline knows Zyra Kline", ["Zyra Kline"]),
        ("the quick brown fox", []),
        ("他在北京工作", []),
        ("", []),
    ],
)
def test_runs_of_capitalised_words_are_proposed(text: str, names: list[str]) -> None:
    assert proposed_names(text, ENGLISH) == names


@given(st.text())
def test_what_is_proposed_stands_in_the_text_and_is_bounded(text: str) -> None:
    names = proposed_names(text, ENGLISH)
    assert len(set(names)) == len(names) <= MAX_PROPOSALS
    squeezed = "".join(text.split())
    for name in names:
        assert len(name) <= MAX_NAME_CHARS
        assert len(name.split()) <= MAX_WORDS
        assert name.replace(" ", "") in squeezed
        assert name[0].isupper()
