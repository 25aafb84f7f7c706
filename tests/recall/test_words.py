"""The lexical leg from end to end: what a query's words find, and what they are worth."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest

from engram.services import Services
from tests.fixtures.spaces import Space, ids, new_space


async def found(space: Space, query: str, **fields: object) -> list[str]:
    """Contents of the memories that share a word with the query, best first."""
    answer = await space.ask(query, embedding=space.vector(), max_hops=0, graph_weight=1, top_k=200, **fields)
    return [hit.content for hit in answer.results if hit.lexical_score > 0]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("汇率", "外币汇率换算工具"),
        ("外币 工具", "外币汇率换算工具"),
        ("タワー", "東京タワーに行った"),
        ("한국어", "그는 한국어를 배운다"),
        ("ไทย", "ฉันพูดภาษาไทยได้"),
        ("हिन्दी", "मुझे हिन्दी आती है"),
        ("привет", "Привет, мир!"),
        ("STRASSE", "die Straße"),
        ("naive", "NAIVE approach"),
        ("cafe\u0301", "the CAFÉ"),
        ("ｆｕｌｌｗｉｄｔｈ", "fullwidth text"),
        ("company", "two companies"),
        ("user's", "the user"),
        ("snake", "a snake_case name"),
        ("100", "it costs 100%"),
    ],
)
async def test_a_word_finds_the_memory_that_holds_it(space: Space, query: str, text: str) -> None:
    await space.remember_all([text, "something else altogether", "完全に別のもの", "совсем другое"])
    assert await found(space, query) == [text]


@pytest.mark.parametrize(
    "query", ["the of", "!!!", "`", "a&b | c:*", "'", "\\", "%", "_", "👍", "'; DROP TABLE memories; --", "$1", "NULL"]
)
async def test_an_odd_query_is_answered_like_any_other(space: Space, query: str) -> None:
    await space.remember_all(["apples", "bridges", "cellos"])
    answer = await space.ask(query)
    assert len(answer.results) == 3
    assert answer.query == query
    assert all(math.isfinite(hit.score) and 0 <= hit.score <= 1 for hit in answer.results)


async def test_an_agent_without_memories_answers_with_nothing(space: Space) -> None:
    answer = await space.ask("anything", explain=True)
    assert (answer.results, answer.truncated) == ([], False)


async def test_the_same_text_scores_highest_and_close_to_one(space: Space) -> None:
    texts = ["The cat sleeps on the sofa", "Stripe charges a fee", "The train to Lisbon was late"]
    await space.remember_all(texts)
    for text in texts:
        (first, *others) = (await space.ask(text)).results
        assert first.content == text
        assert first.vector_score == pytest.approx(1, abs=1e-5)
        assert first.lexical_score == 1
        assert 0.999 < first.score <= 1
        assert all(hit.score < first.score for hit in others)


async def test_a_word_brings_what_the_vector_would_never(space: Space) -> None:
    hidden = {"content": "the code is XK-4711", "embedding": space.vector(-1)}
    near = [
        {"content": f"near {number}", "embedding": space.vector(0.5, *[0.0] * number, 0.75**0.5)}
        for number in range(120)
    ]
    (code, *_) = ids(await space.remember_all([hidden, *near]))
    hits = await space.hits("XK-4711", embedding=space.vector(1), top_k=5)
    assert code in hits
    assert (hits[code].vector_score, hits[code].lexical_score) == (0, 1)
    assert code not in await space.hits("XK-4711", embedding=space.vector(1), top_k=5, lexical=False)


async def test_words_are_worth_what_bm25_says(shared_services: Services) -> None:
    space = await new_space(shared_services, language="none")
    texts = ["ash oak elm", "ash ash ash oak", "elm elm", "fir " * 30 + "oak", "fir"]
    await space.remember_all(texts)
    hits = {hit.content: hit.lexical_score for hit in (await space.ask("ash oak oak", top_k=5)).results}
    expected = bm25(["ash", "oak"], texts)
    assert hits == {text: pytest.approx(score, abs=1e-6) for text, score in expected.items()}


async def test_what_is_deleted_counts_no_more(shared_services: Services) -> None:
    space = await new_space(shared_services, language="none")
    texts = ["ash oak elm", "ash ash ash oak", "elm elm", "fir oak fir fir fir", "fir"]
    gone = ids(await space.remember_all(["oak oak oak oak", *texts, "fir " * 100]))
    await space.forget(gone[0])
    await space.forget(gone[-1])
    hits = {hit.content: hit.lexical_score for hit in (await space.ask("ash oak", top_k=5)).results}
    assert hits == {text: pytest.approx(score, abs=1e-6) for text, score in bm25(["ash", "oak"], texts).items()}


def bm25(query: list[str], texts: list[str]) -> dict[str, float]:
    """Okapi BM25 of each text and, for phrases, a share of their idf; divided by the best."""
    average = sum(len(text.split()) for text in texts) / len(texts)
    pairs = {text: set(pairwise(text.split())) for text in texts}
    scores = {}
    for text in texts:
        counts, length = Counter(text.split()), len(text.split())
        scores[text] = 0.0
        for word in query:
            idf = inverse_frequency(sum(word in other.split() for other in texts), len(texts))
            scores[text] += idf * counts[word] * 1.9 / (counts[word] + 0.9 * (0.6 + 0.4 * length / average))
        for phrase in pairwise(query):
            idf = inverse_frequency(sum(phrase in other for other in pairs.values()), len(texts))
            scores[text] += 0.3 * idf * (phrase in pairs[text])
    best = max(scores.values())
    return {text: score / best for text, score in scores.items()}


def inverse_frequency(df: int, memories: int) -> float:
    return math.log(1 + (memories - df + 0.5) / (df + 0.5))


async def test_a_phrase_is_worth_more_than_its_words_apart(space: Space) -> None:
    phrase, apart = "the support group met again", "again the group met for support"
    await space.remember_all([apart, phrase])
    (first, second) = (await space.ask("which support group?")).results
    assert (first.content, second.content) == (phrase, apart)
    assert first.lexical_score > second.lexical_score > 0


async def test_a_turn_is_found_by_who_says_it(space: Space) -> None:
    said = await space.remember("Caroline: I went to Lisbon, Melanie", session_id="s1")
    await space.remember("Melanie: I went to Lisbon, Caroline", session_id="s2")
    (first, second) = (await space.ask("Where did Caroline go?", explain=True, max_hops=0)).results
    assert first.id == said.id
    assert first.lexical_score > second.lexical_score
    assert first.explain is not None
    assert second.explain is not None
    assert "@carolin" in first.explain.terms
    assert "@carolin" not in second.explain.terms


async def test_outside_sessions_nobody_speaks(space: Space) -> None:
    await space.remember("Reminder: buy milk")
    (hit,) = (await space.ask("what reminder?", explain=True)).results
    assert hit.explain is not None
    assert hit.explain.terms == ["remind"]


async def test_a_declared_subject_is_a_word_that_the_query_may_use(space: Space) -> None:
    about = await space.remember("She was born in Ghent", entities=[{"name": "Grace Krilanovich", "role": "subject"}])
    await space.remember("She was born in Bruges")
    (first, *_) = (await space.ask("Where was Krilanovich born?", explain=True)).results
    assert first.id == about.id
    assert first.explain is not None
    assert "@krilanovich" in first.explain.terms


@pytest.mark.parametrize(
    ("query", "asked_at", "term"),
    [
        ("What happened in May 2023?", None, "#2023-05"),
        ("What happened on 8 May 2023?", None, "#2023-05-08"),
        ("What happened on May 8th, 2023?", None, "#2023-05-08"),
        ("What happened on 2023-05-08?", None, "#2023-05-08"),
        ("What did we do in May?", None, "#*-05"),
        ("What happened in 2023?", None, "#2023"),
        ("What happened yesterday?", "2023-05-09T10:00:00Z", "#2023-05-08"),
        ("What happened last week?", "2023-05-12T10:00:00Z", "#2023-05-08"),
        ("What happened two weeks ago?", "2023-05-22T10:00:00Z", "#2023-05-08"),
        ("What did we do in the past three months?", "2023-07-12T10:00:00Z", "#2023-05"),
    ],
)
async def test_a_period_in_the_query_finds_what_was_then(
    space: Space, query: str, asked_at: str | None, term: str
) -> None:
    then = await space.remember("We moved to a new house", valid_from="2023-05-08T09:00:00Z")
    await space.remember("We moved to an old house", valid_from="2021-02-03T09:00:00Z")
    (first, *_) = (await space.ask(query, explain=True, **({"as_of": asked_at} if asked_at else {}))).results
    assert first.id == then.id
    assert first.explain is not None
    assert term in first.explain.terms


async def test_the_best_that_may_be_seen_has_the_full_score(space: Space) -> None:
    await space.remember("zebra zebra zebra", user_id="ada")
    await space.remember("a zebra among many other animals", user_id="bob")
    (hit,) = (await space.ask("zebra", user_id="bob")).results
    assert hit.lexical_score == 1


async def test_the_terms_behind_a_score_are_shown(space: Space) -> None:
    await space.remember("zebras and okapis cross")
    (hit,) = (await space.ask("the crossing of an okapi, or a unicorn", explain=True)).results
    assert hit.explain is not None
    assert hit.explain.terms == ["cross", "okapi"]


async def test_without_words_a_recall_knows_none(space: Space) -> None:
    await space.remember("zebra crossing")
    (hit,) = (await space.ask("zebra", lexical=False, explain=True)).results
    assert (hit.lexical_score, hit.graph_score) == (0, 0)
    assert hit.explain is not None
    assert (hit.explain.lexical_rank, hit.explain.terms) == (None, [])
