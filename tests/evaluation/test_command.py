"""``engram eval`` from folders to figures, on an embedded Postgres of its own."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram.db.embedded import EmbeddedPostgres
from engram.db.leases import exclusive
from tests.cli.conftest import Run, finish, start
from tests.evaluation.conftest import QUESTIONS, ZOO, write_set

VARIANTS = "vector,lexical,vector+lexical,full,full-temporal,full-entity_link,thematic_degree=0"


@pytest.fixture(scope="session")
def measured(server_dir: Path) -> dict[str, Any]:
    """One run of two sets, for all workers: its ``run`` (JSON on stdout), and its ``folder`` with what it left."""
    folder = server_dir / "evaluation"
    with exclusive(server_dir / "evaluation.lock", timeout=120):
        if not (folder / "stdout").exists():
            folder.mkdir(exist_ok=True)
            _measure(folder)
    return {"run": json.loads((folder / "stdout").read_text()), "folder": folder}


def _measure(folder: Path) -> None:
    write_set(folder / "zoo", ZOO, QUESTIONS)
    titled = [{**record, "meta": {"title": f"Title {record['id']}"}} for record in ZOO]
    write_set(folder / "titled", titled, QUESTIONS, zipped=True)
    (folder / "tmp").mkdir()
    outcome = finish(
        start(
            "eval", "zoo", "titled", "--variants", VARIANTS, "--k", "1,2", "--cache-dir", "cache", "--json",
            "--save", "run.json", "--plot", "plot.png", cwd=folder, TMPDIR=str(folder / "tmp"),
            ENGRAM_DATABASE_URL="postgresql://127.0.0.1:1/x",
        ),
        timeout=120,
    )  # fmt: skip
    assert (outcome.status, outcome.stderr) == (0, "")
    (folder / "stdout").write_text(outcome.stdout)


@pytest.fixture
def again(measured: dict[str, Any], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The same command with the same cache, or a copy of it, and no way to start a database."""
    folder = tmp_path / "e"
    shutil.copytree(measured["folder"], folder)
    monkeypatch.chdir(folder)

    def start_none(*arguments: object) -> None:
        raise RuntimeError("a database was started")

    monkeypatch.setattr(EmbeddedPostgres, "start", start_none)
    return lambda *more, variants=VARIANTS: run(
        "eval", "zoo", "titled", "--variants", variants, "--k", "1,2", "--cache-dir", "cache", *more
    )


def variant_of(run: dict[str, Any], name: str, at: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in run["sets"][at]["variants"] if one["name"] == name)
    return found


def means(run: dict[str, Any], name: str, at: int = 0) -> dict[str, float]:
    return {metric: told["mean"] for metric, told in variant_of(run, name, at)["figures"]["metrics"].items()}


def test_the_figures_are_those_worked_out_by_hand(measured: dict[str, Any]) -> None:
    found = means(measured["run"], "lexical")
    ndcg = (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert found == {
        "recall@1": pytest.approx(2.5 / 3),
        "recall@2": pytest.approx(2.5 / 3),
        "hit@1": 1,
        "hit@2": 1,
        "all@1": pytest.approx(2 / 3),
        "all@2": pytest.approx(2 / 3),
        "MRR@10": 1,
        "nDCG@10": pytest.approx((2 + ndcg) / 3, abs=1e-6),
    }
    types = variant_of(measured["run"], "lexical")["types"]
    assert {kind: (one["questions"], one["metrics"]["recall@1"]["mean"]) for kind, one in types.items()} == {
        "pair": (1, 0.5),
        "single": (2, 1),
    }


def test_what_was_measured_is_said(measured: dict[str, Any]) -> None:
    run = measured["run"]
    assert [(one["name"], one["memories"], one["banks"], one["left_out"]) for one in run["sets"]] == [
        ("zoo", 4, 1, 2),
        ("titled", 4, 1, 2),
    ]
    assert [variant_of(run, "full", at)["loaded"]["titles"] for at in (0, 1)] == [0, 4]
    assert variant_of(run, "thematic_degree=0")["tuning"] == {"thematic_degree": 0}
    assert run["environment"]["embedding_provider"] == "static"
    assert all("rankings" not in one for one in run["sets"][0]["variants"])


def test_an_ablation_without_its_edges_has_no_figures(measured: dict[str, Any]) -> None:
    run = measured["run"]
    assert [variant_of(run, "full-entity_link", at)["missing"] for at in (0, 1)] == ["entity_link", None]
    assert [variant_of(run, "full-temporal", at)["missing"] for at in (0, 1)] == [None, "temporal"]
    assert variant_of(run, "full-entity_link", 0)["figures"] is None
    assert variant_of(run, "full-entity_link", 1)["figures"] is not None


def test_variants_are_compared_with_the_baselines(measured: dict[str, Any]) -> None:
    against = variant_of(measured["run"], "full")["against"]
    assert set(against) == {"vector+lexical", "vector"}
    difference = means(measured["run"], "full")["recall@1"] - means(measured["run"], "vector")["recall@1"]
    assert against["vector"]["recall@1"]["mean"] == pytest.approx(difference)
    assert set(variant_of(measured["run"], "vector")["against"]) == {"vector+lexical"}


def test_it_leaves_nothing_but_what_was_asked_for(measured: dict[str, Any]) -> None:
    folder = measured["folder"]
    assert list((folder / "tmp").iterdir()) == []
    assert {path.name for path in folder.iterdir()} == {
        "zoo",
        "titled",
        "cache",
        "run.json",
        "plot.png",
        "tmp",
        "stdout",
    }
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    saved = json.loads((folder / "run.json").read_text())
    assert variant_of(saved, "lexical")["rankings"]["b/q1"] == ["first", "second", "third", "fourth"]


def test_a_second_run_gives_the_same_without_a_database(measured: dict[str, Any], again: Callable[..., Any]) -> None:
    outcome = again("--json")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.json["sets"] == measured["run"]["sets"]


def test_what_was_asked_under_another_name_is_known_too(again: Callable[..., Any]) -> None:
    outcome = again("--json", variants="graph_weight=0.0:max_hops=0:lexical=false:passages=false")
    assert means(outcome.json, "graph_weight=0.0:max_hops=0:lexical=false:passages=false")["recall@1"] == means(
        again("--json").json, "vector"
    ).get("recall@1")


@pytest.mark.parametrize(
    ("file", "more"),
    [("zoo/memories.jsonl", ()), ("zoo/queries.jsonl", ()), (None, ("--titles", "none")), (None, ("--no-cache",))],
)
def test_what_is_not_known_is_asked(again: Callable[..., Any], file: str | None, more: tuple[str, ...]) -> None:
    if file is not None:
        text = Path(file).read_text()
        Path(file).write_text(text.replace("clock", "watch"))
    outcome = again(*more)
    assert outcome.status == 1
    assert "a database was started" in outcome.stderr


def test_a_result_that_is_damaged_is_asked_again(again: Callable[..., Any]) -> None:
    for result in Path("cache/results").iterdir():
        result.write_text(result.read_text()[:-5])
    assert "a database was started" in again().stderr


def test_the_tables(again: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = again(variants="vector,lexical,vector+lexical,full,full-entity_link").stdout
    assert max(map(len, printed.splitlines())) <= 80
    shown = " ".join(printed.split())
    assert "zoo: 4 memories in 1 bank, 3 questions (2 left out), no titles" in shown
    assert "titles of 4 as subjects" in shown
    assert "full-entity_link: this set has no entity_link edges, so there is nothing to leave out." in shown
    for told in ("recall@1", "hit@2", "all@2", "MRR@10", "nDCG@10", "0.833", "against vector+lexical", "2 questions"):
        assert told in shown


def test_a_run_is_itself(again: Callable[..., Any], run: Run) -> None:
    compared = run("eval", "--compare", "run.json", "run.json", "--json").json
    assert len(compared) == 2 * 7 - 2
    for one in compared:
        for change in one["metrics"].values():
            assert change["before"] == change["after"]
            assert change["difference"] == {"mean": 0, "low": 0, "high": 0, "p_value": 1}
    assert "as good" in run("eval", "--compare", "run.json", "run.json").stdout


def test_runs_on_something_else_are_refused(again: Callable[..., Any], run: Run) -> None:
    saved = json.loads(Path("run.json").read_text())

    def refused(changed: dict[str, Any]) -> str:
        Path("other.json").write_text(json.dumps(changed))
        outcome = run("eval", "--compare", "run.json", "other.json")
        assert (outcome.status, outcome.stdout) == (1, "")
        return outcome.stderr

    sets = saved["sets"]
    assert "on different sets: titled, zoo; and zoo" in refused({**saved, "sets": sets[:1]})
    assert "the files of zoo were others" in refused({**saved, "sets": [{**sets[0], "fingerprint": "x"}, sets[1]]})
    fewer = {**sets[0], "questions": sets[0]["questions"][1:]}
    assert "of zoo the runs asked different questions: 3 and 2" in refused({**saved, "sets": [fewer, sets[1]]})
    assert "no k in common: 1, 2 and 7" in refused({**saved, "ks": [7]})
    assert "no variant in common" in refused({**saved, "sets": [{**one, "variants": []} for one in sets]})
    assert "other.json: no run of engram eval, date: Field required" in refused({})
    assert "none.json: No such file" in run("eval", "--compare", "run.json", "none.json").stderr


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ((), 2, "name the sets to measure"),
        (("zoo", "--compare", "run.json", "run.json"), 2, "name the sets to measure"),
        (("zoo", "--k", "1,x"), 2, "'1,x' is not a list of numbers"),
        (("zoo", "--k", "0"), 2, "must be from 1 to 200"),
        (("zoo", "--variants", "fulll"), 1, "unknown variant 'fulll'; known are"),
        (("zoo", "--variants", "anchors=0"), 1, "variant 'anchors=0': anchors"),
        (("zoo", "--variants", "extraction=some"), 1, "extraction is one of none, entities, relations, all"),
        (("zoo", "--variants", "extraction=all"), 1, "zoo holds neither openie.jsonl nor openie.jsonl.gz"),
        (("zoo", "./zoo"), 1, "two sets have the same name: zoo, zoo"),
        (("zoo", "--save", "nowhere/run.json"), 1, "nowhere/run.json: there is no such folder"),
        (("zoo", "--embedder", "psychic"), 1, "embedding_provider: "),
        (("zoo", "--language", "klingon"), 1, "--language klingon: known are none, arabic"),
    ],
)
def test_what_cannot_be_done_is_told_at_once(
    again: Callable[..., Any], run: Run, arguments: tuple[str, ...], status: int, told: str
) -> None:
    outcome = run("eval", *arguments)
    assert (outcome.status, outcome.stdout) == (status, "")
    assert told in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_a_missing_extra_is_named(run: Run, zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def import_module(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", import_module)
    outcome = run("eval", str(zoo))
    assert outcome.status == 1
    assert "needs ir_measures, which is not installed: pip install 'engram[eval]'" in outcome.stderr


def test_a_sample_two_at_a_time_in_another_language(run: Run, zoo: Path, tmp_path: Path) -> None:
    outcome = run(
        "eval", str(zoo), "--variants", "lexical,entity_recognition=rules", "--questions", "2", "--at-once", "2",
        "--language", "none", "--no-cache", "--json",
    )  # fmt: skip
    assert (outcome.status, outcome.stderr) == (0, "")
    # Nothing is stemmed: "otters" is not in the sample, and "zebra" stands as it is.
    figures = variant_of(outcome.json, "lexical")["figures"]
    assert (figures["questions"], figures["metrics"]["recall@1"]["mean"]) == (2, 0.75)
    assert variant_of(outcome.json, "entity_recognition=rules")["tuning"] == {"entity_recognition": "rules"}
