"""Sets as they are read, and what is said of those that cannot be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engram.evaluation.extraction import Extraction, extracted
from engram.evaluation.loading import Titles, item_of, title_of
from engram.evaluation.questions import spread
from engram.evaluation.reading import read_set
from engram.evaluation.records import ExtractionRecord, MemoryRecord
from engram.memories.schemas import MemoryItem
from tests.cli.conftest import Run
from tests.evaluation.conftest import QUESTIONS, ZOO, memory, question, write_set


@pytest.mark.parametrize("zipped", [False, True])
def test_a_set(tmp_path: Path, zipped: bool) -> None:
    found = read_set(write_set(tmp_path / "zoo", ZOO, QUESTIONS, zipped=zipped))
    assert (found.name, found.memories, list(found.banks), found.left_out) == ("zoo", 4, ["b"], 2)
    assert [(one.id, one.gold, one.type) for one in found.questions] == [
        ("b/q1", {"first", "fourth"}, "pair"),
        ("b/q2", {"fourth"}, "single"),
        ("b/q3", {"second"}, "single"),
    ]
    assert found.has_neighbours
    assert found.banks["b"][0].ts == datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert found.banks["b"][0].session == "s"


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    plain, zipped = (write_set(tmp_path / str(way), ZOO, QUESTIONS, zipped=way) for way in (False, True))
    other = write_set(tmp_path / "other", [*ZOO[:-1], {**ZOO[-1], "text": "Otters sleep."}], QUESTIONS)
    assert read_set(plain).fingerprint == read_set(zipped).fingerprint != read_set(other).fingerprint


def test_what_is_stored_once_counts_as_one(tmp_path: Path) -> None:
    twice = [memory("a", "Yes."), memory("b", "Yes."), memory("c", "Yes.", meta={"session": "s"})]
    found = read_set(write_set(tmp_path / "set", twice, [question("q", "yes?", ["a", "b", "c"])]))
    assert found.memories == 2
    assert found.questions[0].gold == {"a", "c"}


def test_ids_may_repeat_in_another_bank(tmp_path: Path) -> None:
    memories = [{"id": "1", "ns": bank, "text": f"In {bank}."} for bank in ("x", "y")]
    queries = [{"id": "q", "ns": bank, "query": "Where?", "gold": ["1"]} for bank in ("x", "y")]
    found = read_set(write_set(tmp_path / "set", memories, queries))
    assert [one.id for one in found.questions] == ["x/q", "y/q"]
    assert not found.has_neighbours


def test_a_sample_is_spread_evenly(tmp_path: Path) -> None:
    queries = [question(str(at), "?", ["first"]) for at in range(10)]
    questions = read_set(write_set(tmp_path / "set", ZOO, queries)).questions
    assert [one.id for one in spread(questions, 4)] == ["b/0", "b/2", "b/5", "b/7"]
    assert spread(questions, None) == spread(questions, 10) == spread(questions, 99) == questions


@pytest.mark.parametrize(
    ("titles", "expected"), [(Titles.meta, "Of the meta"), (Titles.first_line, "Of the text"), (Titles.none, None)]
)
def test_titles(titles: Titles, expected: str | None) -> None:
    record = MemoryRecord.model_validate(memory("1", " Of the text\nBody.", meta={"title": "Of the meta "}))
    assert title_of(record, titles) == expected
    assert title_of(MemoryRecord(id="1", text="Body"), Titles.meta) is None
    long = MemoryRecord.model_validate(memory("1", "Body", meta={"title": "x" * 300}))
    assert len(title_of(long, Titles.meta) or "") == 256


def test_an_id_is_kept_where_nothing_searches() -> None:
    record = MemoryRecord.model_validate(memory("the-id", "Body", entities=["Zyra"], meta={"title": "T"}))
    item = item_of(record, Titles.meta)
    assert item.pop("metadata") == {"id": "the-id"}
    assert "the-id" not in str(item)
    assert [(entity["name"], entity["role"]) for entity in item["entities"]] == [("T", "subject"), ("Zyra", "mention")]


def test_what_was_extracted_is_written_as_far_as_a_memory_may_declare_it(tmp_path: Path) -> None:
    triples = [["Zyra", "lives in", "Oslo"], ["it", "is", "Oslo"], ["Zyra", "-", "Oslo"], ["Zyra", "knows"]]
    found = {"ns": "b", "id": "first", "entities": ["Zyra", "it", "Zyra"], "triples": [*triples, triples[0]]}
    more = {"ns": "b", "id": "second", "triples": [["Zyra", f"knows {n}", "Oslo"] for n in range(20)]}
    questions = read_set(write_set(tmp_path / "set", ZOO, [GOOD], [found, more]))
    first, second, third = questions.banks["b"][:3]

    def item(record: MemoryRecord, part: Extraction) -> dict[str, Any]:
        return item_of(record, Titles.none, part, questions.extractions.get(("b", record.id)))

    told = {"subject": "Zyra", "predicate": "lives in", "object": "Oslo"}
    assert (item(first, Extraction.all)["entities"], item(first, Extraction.all)["relations"]) == (["Zyra"], [told])
    assert item(first, Extraction.entities)["relations"] == item(first, Extraction.relations)["entities"] == []
    assert item(first, Extraction.none) == item_of(first, Titles.none)
    assert len(item(second, Extraction.relations)["relations"]) == 8
    assert item(third, Extraction.all) == item_of(third, Titles.none)
    # What is measured without it is known by the same fingerprint.
    assert questions.fingerprint == read_set(write_set(tmp_path / "bare", ZOO, [GOOD])).fingerprint


def test_what_was_extracted_from_no_memory_is_told(run: Run, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", ZOO, [GOOD], [{"ns": "b", "id": "fifth"}])
    assert "openie.jsonl, line 1, id: bank 'b' has no memory 'fifth'" in run("eval", str(folder), "--no-cache").stderr


GOOD = question("q", "zebra", ["first"])


@pytest.mark.parametrize(
    ("memories", "queries", "told"),
    [
        ([*ZOO, memory("first", "Again.")], [GOOD], "memories.jsonl, line 5, id: 'first' is there already"),
        (['{"id": "1", "te'], [GOOD], "memories.jsonl, line 1: Invalid JSON"),
        (["", "[]"], [GOOD], "memories.jsonl, line 2"),
        ([memory("1", "")], [GOOD], "memories.jsonl, line 1, text"),
        ([memory("1", "Yes.", ts="soon")], [GOOD], "memories.jsonl, line 1, ts"),
        ([memory("1", "Yes.", meta={"session": ""})], [GOOD], "memories.jsonl, line 1, meta.session"),
        ([], [GOOD], "memories.jsonl: holds no memory"),
        (ZOO, [], "queries.jsonl: holds no question that has gold"),
        (ZOO, [question("q", "?", [])], "queries.jsonl: holds no question that has gold"),
        (ZOO, [GOOD, question("r", "?", ["fifth"])], "queries.jsonl, line 2, gold: bank 'b' has no memory 'fifth'"),
        (ZOO, [{**GOOD, "ns": "c"}], "queries.jsonl, line 1, gold: bank 'c' has no memory 'first'"),
        (ZOO, [GOOD, GOOD], "queries.jsonl, line 2, id: 'q' is there already in bank 'b'"),
        (ZOO, [{"id": "q", "ns": "b", "gold": ["first"]}], "queries.jsonl, line 1, query: Field required"),
        (ZOO, ["{}"], "queries.jsonl, line 1, id: Field required"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    run: Run, tmp_path: Path, memories: list[Any], queries: list[Any], told: str
) -> None:
    outcome = run("eval", str(write_set(tmp_path / "set", memories, queries)), "--no-cache")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert told in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_what_is_no_set_is_told(run: Run, tmp_path: Path, zoo: Path) -> None:
    assert f"{tmp_path / 'none'}: no such folder" in run("eval", str(tmp_path / "none")).stderr
    assert "not a folder" in run("eval", str(zoo / "queries.jsonl")).stderr
    (zoo / "queries.jsonl").rename(zoo / "questions.jsonl")
    assert "holds neither queries.jsonl nor queries.jsonl.gz" in run("eval", str(zoo)).stderr
    (zoo / "memories.jsonl.gz").write_bytes(b"no gzip")
    (zoo / "questions.jsonl").rename(zoo / "queries.jsonl")
    assert "memories.jsonl.gz: not readable as gzip" in run("eval", str(zoo)).stderr


def test_what_a_server_would_refuse_of_an_extraction_is_left_out() -> None:
    fine = ["Anna", "works at", "Acme"]
    refused = [["Anna", text, "Acme"] for text in ("k" * 257, "k\x00k", "- _", " ", "?", "\ud800")]
    refused += [[name, "knows", "Anna"] for name in ("n" * 257, "An\x00na", "Anna \ud800", "it", "")]
    refused += [["Anna", "knows"], [*fine, "since May"]]
    names = [name for name, *_ in refused]
    record = ExtractionRecord.model_construct(id="a", entities=names, triples=[*refused, fine, fine])
    found = extracted(record, Extraction.all)
    assert found["entities"] == ["Anna"]
    assert [list(one.values()) for one in found["relations"]] == [fine]
    MemoryItem.model_validate({"content": "Anna works at Acme.", **found})
