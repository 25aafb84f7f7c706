from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram.text.terms import LANGUAGES, MAX_QUERY_TERMS, MAX_TERMS, analyzer_for

english = analyzer_for("english")

unspaced = st.text(st.sampled_from("外币汇率换算工具東京タワーひらがな한국어ไทยภาษา"), min_size=2, max_size=40)


def found(query: str, text: str, language: str = "english") -> bool:
    """Whether all that is asked for stands in the text."""
    analyzer = analyzer_for(language)
    asked = analyzer.query_terms(query)
    return bool(asked) and set(asked) <= set(analyzer.document_terms(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("汇率", "外币汇率换算工具"),
        ("率", "外币汇率换算工具"),
        ("タワー", "東京タワーに行った"),
        ("한국어", "그는 한국어를 배운다"),
        ("ไทย", "ฉันพูดภาษาไทยได้"),
        ("हिन्दी", "मुझे हिन्दी आती है"),
        ("GPT", "我们用GPT写代码"),
        ("running", "She runs every day"),
        ("companies", "the company was sold"),
        ("naïve", "a nai\u0308ve plan"),
        ("ﬁle", "the FILE is here"),
        ("Acme's", "she left Acme"),
        ("user\u2019s", "the USER"),
    ],
)
def test_a_word_finds_the_text_that_holds_it(query: str, text: str) -> None:
    assert found(query, text)


@pytest.mark.parametrize(
    ("query", "text", "language"),
    [
        ("Häuser", "das Haus", "german"),
        ("книга", "две книги", "russian"),
        ("gatos", "un gato", "spanish"),
        ("évaluations", "une évaluation", "french"),
    ],
)
def test_stems_are_those_of_the_language(query: str, text: str, language: str) -> None:
    assert found(query, text, language)


@pytest.mark.parametrize(
    ("query", "text"),
    [("汇率", "汇款的利率"), ("art", "party"), ("汇率", "汇 率"), ("run", "rung")],
)
def test_a_word_is_not_found_in_pieces_of_others(query: str, text: str) -> None:
    assert not found(query, text)


@pytest.mark.parametrize("query", ["the of", "!!!", "`", "'", "\\", "👨\u200d👩\u200d👧", "   "])
def test_what_holds_no_telling_word_asks_for_nothing(query: str) -> None:
    assert english.query_terms(query) == {}
    assert english.phrases(query, 10) == []


def test_a_language_without_stems_keeps_words_as_they_are() -> None:
    assert analyzer_for("none").document_terms("The runners ran") == {"the": 1, "runners": 1, "ran": 1}


@given(text=unspaced, data=st.data())
def test_every_part_of_an_unspaced_run_is_found_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert found(text[start:end], text)


@given(st.text(), st.sampled_from(LANGUAGES))
@example("s", "porter")
def test_every_text_has_terms_that_an_index_can_hold(text: str, language: str) -> None:
    terms = analyzer_for(language).document_terms(text)
    assert all(0 < len(term) <= 256 and count > 0 for term, count in terms.items())


@given(st.text(), st.sampled_from(LANGUAGES))
def test_a_text_holds_all_that_it_would_ask_for(text: str, language: str) -> None:
    analyzer = analyzer_for(language)
    assert set(analyzer.query_terms(text)) <= set(analyzer.document_terms(text))


@given(st.text())
def test_a_query_asks_for_each_term_once_in_order(text: str) -> None:
    asked = english.query_terms(text)
    assert len(set(asked)) == len(asked) <= MAX_QUERY_TERMS
    assert list(english.query_terms(f"{text} {text}")) == list(asked)


def test_a_bigram_counts_as_often_as_a_query_says_it_and_a_word_once() -> None:
    assert english.query_terms("活动 the event of the event 活动") == {"活动": 2, "event": 1}


def test_phrases_are_neighbours_that_tell_something() -> None:
    assert english.phrases("The support of a group, support groups, 活动", 10) == ["support group", "group support"]
    assert english.phrases("one phrase after another phrase", 2) == ["one phrase", "phrase anoth"]


@given(st.text(), st.sampled_from(LANGUAGES))
def test_no_phrase_is_a_word(text: str, language: str) -> None:
    analyzer = analyzer_for(language)
    phrases = analyzer.phrases(text, MAX_TERMS)
    assert len(set(phrases)) == len(phrases)
    assert not set(phrases) & set(analyzer.document_terms(text))


def test_a_query_of_sixty_thousand_words_asks_for_a_bounded_number() -> None:
    assert len(english.query_terms(" ".join(f"word{number}" for number in range(60_000)))) == MAX_QUERY_TERMS


def test_all_words_of_two_megabytes_are_counted() -> None:
    text = "zebra quagga okapi " * 105_000
    assert len(text) > 1_990_000
    assert english.document_terms(text) == {"zebra": 105_000, "quagga": 105_000, "okapi": 105_000}


def test_very_long_words_are_short_terms_that_stay_apart() -> None:
    url = (string.ascii_lowercase + string.digits) * 300
    one, other = english.query_terms(f"{url}x {url}y")
    assert one != other
    assert max(len(one), len(other)) <= 64
    assert found(f"{url}x", f"see {url}x for more")
    assert found(f"{url}x".upper(), f"see {url}x for more")


def test_of_very_many_terms_the_first_are_indexed() -> None:
    text = " ".join(f"word{at}" for at in range(MAX_TERMS + 10))
    counts = analyzer_for("english").document_terms(text)
    assert len(counts) == MAX_TERMS
    assert "word0" in counts
    assert f"word{MAX_TERMS}" not in counts
