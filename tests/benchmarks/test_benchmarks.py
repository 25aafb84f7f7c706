"""The benchmarks measure what they say: the same store every time, figures to be compared, and a run that ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.across import FLAT, flatness
from benchmarks.bench import Bench
from benchmarks.comparison import changes
from benchmarks.corpus import Corpus, Shape
from benchmarks.figures import Figure, Sheet, Size, at_least, at_most, below
from benchmarks.loading import OtherCorpusError, load
from benchmarks.plot import plot
from benchmarks.report import Report, environment, read, save
from benchmarks.running import RUNS, suite
from benchmarks.runs import recall
from benchmarks.store import Store, Stores
from benchmarks.timing import Times, alternate, concurrently
from engram.db.embedded import EmbeddedPostgres

SMALL = Size(memories=200)


def _figure(name: str = "recall p50", value: float = 10.0, **fields: Any) -> Figure:
    return Figure.model_validate({"run": "recall", "size": SMALL, "name": name, "value": value, "unit": "ms", **fields})


def test_a_seed_gives_the_same_memories_and_questions_every_time() -> None:
    one, same, other = (Corpus(Shape(300, seed=seed)) for seed in (3, 3, 4))
    assert list(one.memories()) == list(same.memories())
    assert one.questions(20) == same.questions(20)
    assert list(one.memories()) != list(other.memories())


def test_a_part_of_the_corpus_is_what_the_whole_has_there() -> None:
    corpus = Corpus(Shape(300))
    assert list(corpus.memories(120, 60)) == list(corpus.memories())[120:180]


def test_names_and_words_are_spread_unevenly() -> None:
    corpus = Corpus(Shape(3_000))
    named = [item["entities"][0]["name"] for item in corpus.memories() if "entities" in item]
    counts = sorted((named.count(name) for name in set(named)), reverse=True)
    assert counts[0] > 10 * counts[len(counts) // 2]


def test_a_question_has_words_of_its_memory_and_the_name_that_is_asked_for() -> None:
    corpus = Corpus(Shape(300))
    question = corpus.question_about(42, Random(1), "Bartholomew Quist")
    said = next(corpus.memories(42, 1))["content"].lower()
    assert question.endswith("Bartholomew Quist?")
    assert sum(word in said for word in question.lower().split()) >= 3


def test_a_percentile_is_a_time_that_was_taken() -> None:
    times = Times(number / 1000 for number in range(20, 0, -1))
    assert [times.milliseconds(percent) for percent in (0, 50, 95, 100)] == [1, 10, 19, 20]


def test_a_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no times"):
        Times().milliseconds(50)


async def test_jobs_take_turns_at_being_first() -> None:
    done: list[tuple[str, int]] = []

    async def note(name: str, number: int) -> None:
        done.append((name, number))

    times = await alternate({"a": lambda number: note("a", number), "b": lambda number: note("b", number)}, 2)
    assert done == [("a", 0), ("b", 0), ("b", 1), ("a", 1)]
    assert {name: len(taken.seconds) for name, taken in times.items()} == {"a": 2, "b": 2}


async def test_so_many_jobs_run_at_once_and_each_number_once() -> None:
    running, most = 0, 0
    numbers: list[int] = []

    async def job(worker: int, number: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        numbers.append(number)
        await asyncio.sleep(0)
        running -= 1

    times, _ = await concurrently(job, 10, 3)
    assert (most, sorted(numbers), len(times.seconds)) == (3, list(range(10)), 10)


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (at_most(1.5), True),
        (below(1.5), False),
        (at_least(1.6), False),
        (at_most(3.0, of="difference"), False),
        (below(16.0, of="value"), True),
    ],
)
def test_a_target_bounds_the_value_the_ratio_or_the_difference(target: Any, met: bool) -> None:
    sheet = Sheet("recall", SMALL)
    sheet.add("recall p50", 15.0, "ms", beside=("bare", 10.0), target=target)
    assert (sheet.figures[0].ratio, sheet.figures[0].met) == (1.5, met)


def test_more_than_a_fifth_worse_is_a_regression_whichever_way_is_good() -> None:
    before = [_figure("a", 10), _figure("b", 10), _figure("c", 10, better="higher"), _figure("gone", 1)]
    after = [_figure("a", 12.5), _figure("b", 11), _figure("c", 8, better="higher"), _figure("new", 1)]
    found = {name: change.regressed for (_, _, _, name), change in changes(before, after).items()}
    assert found == {"a": True, "b": False, "c": True}


def test_figures_of_other_sizes_are_not_compared() -> None:
    assert changes([_figure()], [_figure(size=Size(memories=300))]) == {}


def test_single_writes_are_compared_between_the_smallest_and_the_largest_store() -> None:
    sizes = {1_000: 10.0, 10_000: 11.0, 100_000: 16.0, 1_000_000: 99.0}
    figures = [_figure(FLAT, value, size=Size(memories=size)) for size, value in sizes.items()]
    assert [(one.ratio, one.met) for one in flatness(figures)] == [(1.6, False)]
    assert flatness(figures[:1]) == []


def test_a_suite_does_every_run() -> None:
    plans = suite([1_000, 200])
    assert {name for _, names in plans for name in names} == set(RUNS)
    assert [size for size, _ in plans] == [SMALL, Size(memories=1_000), Size(memories=1_000, agents=50)]


def test_agents_hold_all_memories_between_them() -> None:
    store = Store(Size(memories=100, agents=7), "", Path(), Corpus(Shape(100)))
    assert [number for agent in range(7) for number in store.numbers(agent)] == list(range(100))


async def test_a_store_is_loaded_once_measured_and_copied(
    postgres: EmbeddedPostgres, tmp_path: Path, static_weights: None
) -> None:
    stores = Stores(postgres, tmp_path)
    store = await stores.open(SMALL)
    assert [figure.better for figure in await load(store)] == ["higher", "higher"]
    assert await load(store) == []
    with pytest.raises(OtherCorpusError):
        await load(Store(store.size, store.url, store.data_dir, Corpus(Shape(200, seed=8))))

    figures = await recall.measure(Bench(stores, store, questions=10))
    assert [figure.name for figure in figures if figure.name.endswith("p50")] == [
        "recall, embedding given p50",
        "recall, embedding included p50",
    ]
    assert all(figure.value > 0 and figure.baseline_name == "bare exact query" for figure in figures)

    report = Report(environment=await environment(store), figures=figures)
    save(report, tmp_path / "report.json")
    assert read(tmp_path / "report.json") == report
    plot(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")

    async with stores.copy(store) as copy, copy.connection() as connection:
        await connection.execute("DELETE FROM agents")
    assert len(await store.agent_ids()) == 1
