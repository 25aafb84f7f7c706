"""The demo: what it shows is true, and it leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from engram.cli.demo.sample import CONVERSATIONS, LINKS
from engram.cli.demo.story import QUESTIONS

from .conftest import Outcome, finish, start


def processes_in(folder: Path) -> list[str]:
    """Of the processes that run in a folder, the names."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder):
                found.append(process.name())
        except (psutil.Error, OSError):
            continue
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demos of this module make their folders: short, as sockets are in them."""
    return tmp_path_factory.mktemp("d")


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, Outcome]:
    """The demo for people and for programs, with settings around that would lead it astray."""
    astray = {
        "TMPDIR": str(folder),
        "EMBEDDING_PROVIDER": "openai",
        "ENGRAM_DATABASE_URL": "postgresql://127.0.0.1:1/x",
    }
    running = {"text": start("demo", cwd=folder, **astray), "json": start("demo", "--json", cwd=folder, **astray)}
    return {form: finish(process, timeout=120) for form, process in running.items()}


@pytest.fixture(scope="module")
def report(outcomes: dict[str, Outcome]) -> dict[str, Any]:
    answer: dict[str, Any] = outcomes["json"].json
    return answer


def test_it_runs_to_its_end_and_leaves_nothing_behind(outcomes: dict[str, Outcome], folder: Path) -> None:
    for outcome in outcomes.values():
        assert (outcome.status, outcome.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []


def test_the_graph_lifts_the_memory_that_vector_search_misses(report: dict[str, Any]) -> None:
    question = report["questions"][0]
    assert question["query"] == "What does this user do for work?"
    assert question["memory"] == "User's company was acquired by Stripe last month"
    assert question["vector_rank"] > 10
    assert question["hybrid_rank"] <= 5
    assert question["path"].startswith("causal ← “User is a software engineer”")
    hit = question["hybrid"][question["hybrid_rank"] - 1]
    assert hit["content"] == question["memory"]


def test_a_shared_name_and_a_shared_word_lift_the_others(report: dict[str, Any]) -> None:
    _, by_name, by_word = report["questions"]
    assert by_name["path"].startswith("entity Duarte Pinho")
    assert by_name["hybrid_rank"] < by_name["vector_rank"]
    assert by_word["path"] == ""
    hit = by_word["hybrid"][by_word["hybrid_rank"] - 1]
    assert hit["graph_score"] == hit["lexical_score"] == 1
    assert by_word["hybrid_rank"] == 1 < by_word["vector_rank"]


def test_what_it_calls_vector_search_is_ranked_by_vector_alone(report: dict[str, Any]) -> None:
    for question in report["questions"]:
        scores = [hit["score"] for hit in question["vector"]]
        assert scores == sorted(scores, reverse=True)
        for hit in question["hybrid"]:
            explanation = hit["explain"]
            assert explanation["vector_part"] + explanation["graph_part"] == pytest.approx(hit["score"], abs=1e-6)
            assert explanation["vector_part"] == pytest.approx(0.6 * hit["vector_score"], abs=1e-6)


def test_the_sample_shows_every_kind_of_link_that_makes_itself(report: dict[str, Any]) -> None:
    assert report["memories"] == sum(len(conversation.notes) for conversation in CONVERSATIONS)
    assert {"temporal", "thematic", "entity_link", "causal"} <= set(report["links"])
    assert report["recall_ms"]["hybrid"] > 0


def test_it_fits_80_columns_without_colours(outcomes: dict[str, Outcome]) -> None:
    shown = outcomes["text"].stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "\x1b" not in shown
    for question in QUESTIONS:
        assert question.query in shown
    assert "engram serve" in shown
    assert "from engram import Engram" in shown


def test_the_sums_on_screen_are_those_of_the_report(outcomes: dict[str, Outcome], report: dict[str, Any]) -> None:
    shown = " ".join(outcomes["text"].stdout.split())
    for question in report["questions"]:
        hit = question["hybrid"][question["hybrid_rank"] - 1]
        vector, graph, score = hit["vector_score"], hit["graph_score"], hit["score"]
        assert f"0.60 × {vector:.3f} vector + 0.40 × {graph:.3f} graph" in shown
        assert f"= {score:.3f}" in shown
        assert f"number {question['vector_rank']} by vector and number {question['hybrid_rank']}" in shown


def test_the_sample_is_consistent() -> None:
    notes = [note for conversation in CONVERSATIONS for note in conversation.notes]
    keys = [note.key for note in notes if note.key]
    assert len({note.text for note in notes}) == len(notes)
    assert len(set(keys)) == len(keys)
    assert {link.source for link in LINKS} | {link.target for link in LINKS} | {q.key for q in QUESTIONS} == set(keys)
    assert [conversation.day for conversation in CONVERSATIONS] == sorted(
        conversation.day for conversation in CONVERSATIONS
    )


def folder_is_there(folder: Path) -> bool:
    # By its name: Python itself tries a temporary folder out with a file that is there for a moment.
    return any(folder.glob("engram-demo-*"))


def server_is_there(folder: Path) -> bool:
    return any(folder.glob("*/postgres/postmaster.pid"))


@pytest.mark.parametrize(
    ("number", "reached", "status"),
    [
        (signal.SIGINT, folder_is_there, 130),
        (signal.SIGINT, server_is_there, 130),
        (signal.SIGTERM, server_is_there, 128 + signal.SIGTERM),
    ],
)
def test_interrupted_it_is_quiet_and_leaves_nothing_behind(
    tmp_path_factory: pytest.TempPathFactory, number: signal.Signals, reached: Callable[[Path], bool], status: int
) -> None:
    folder = tmp_path_factory.mktemp("i")
    process = start("demo", cwd=folder, TMPDIR=str(folder))
    deadline = time.monotonic() + 60
    while not reached(folder) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, number)
    outcome = finish(process)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (status, "", "")
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []
