"""Arguments, streams and files that hold what is no text: one line that says so, and never an internal error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram.cli.importing.entries import Flaw
from engram.memories.schemas import MemoryItem
from tests.cli.conftest import Run
from tests.cli.importing import outcomes
from tests.contract.hostile import SAMPLES

# What bytes that are not UTF-8 become in the arguments of a program, NUL, and escapes for a terminal.
BAD = ("\udcff", "a\udc80b", "a\x00b", "\x1b[31m")


@pytest.mark.parametrize("bad", BAD)
def test_arguments_that_are_no_text_are_refused(client_run: Run, bad: str) -> None:
    for arguments in (
        ("remember", bad),
        ("remember", "x", "--agent", bad),
        ("remember", "x", "--user", bad),
        ("remember", "x", "--session", bad),
        ("remember", "x", "--tag", bad),
        ("remember", "x", "--subject", bad),
        ("remember", "x", "--metadata", f"k={bad}"),
        ("remember", "x", "--metadata", f"{bad}=v"),
        ("remember", "x", "--metadata", json.dumps({"k": bad})),
        ("remember", "x", "--at", bad),
        ("recall", bad),
        ("recall", "x", "--agent", bad),
        ("recall", "x", "--user", bad),
        ("edges", bad),
        ("facts", "append", bad, "is", "x"),
        ("facts", "append", "x", bad, "x"),
        ("facts", "append", "x", "is", bad, "--user", bad),
        ("facts", "append", "x", "is", "x", "--valid-from", bad),
        ("facts", "list", "--subject", bad),
        ("facts", "show", bad),
        ("facts", "recall", "x", "--user", bad),
        ("facts", "merge", "x", bad),
        ("facts", "import", bad),
        ("import", bad),
    ):
        outcome = client_run(*arguments)
        printed = outcome.stdout + outcome.stderr
        assert "internal error" not in printed, arguments
        assert "Traceback" not in printed, arguments
        assert "\x1b" not in printed, arguments
        if bad != "\x1b[31m":  # content and metadata may hold it
            assert outcome.status in (1, 2), arguments
            assert outcome.stderr.strip(), arguments


def test_metadata_that_has_no_end_of_levels_is_refused(client_run: Run) -> None:
    outcome = client_run("remember", "x", "--metadata", '{"k":' * 100_000)
    assert outcome.status == 2
    assert "internal error" not in outcome.stderr


def test_a_stream_that_is_no_text_is_refused(client_run: Run) -> None:
    for stdin in (b"\xff", b"a\x00b", b"\xed\xa0\x80", b"\xef\xbb\xbf", b" \n\t", b"\xe2\x80\x8b"):
        outcome = client_run("remember", "-", stdin=stdin)
        assert outcome.status == 1, stdin
        assert len(outcome.stderr.splitlines()) == 1, stdin


def test_a_file_is_read_into_what_it_says_or_its_flaws() -> None:
    for text in SAMPLES:
        records = [
            {"content": text},
            {"content": "x", "user_id": text},
            {"content": "x", "tags": [text]},
            {"content": "x", "entities": [text]},
            {"content": "x", "metadata": {text: text}},
            {"content": "x", text: 1},
            {"role": text, "content": "x"},
            {"speaker": text, "content": text},
            {"content": "x", "ts": text},
        ]
        lines = "\n".join(json.dumps(record) for record in records)
        for suffix in (".ndjson", ".jsonl"):
            assert len(outcomes(lines, suffix)) == len(records)
        first = outcomes(json.dumps(records[0]), ".ndjson")[0]
        assert isinstance(first, Flaw) or (isinstance(first, MemoryItem) and first.content == text)
        outcomes(json.dumps({"messages": records}), ".json")
        outcomes(f"{text}: {text}\n[{text}] Ann: x".encode("utf-8", "surrogatepass"), ".txt")


def test_a_file_whose_name_is_no_text_names_its_session_so(client_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a\udcff.txt"
    file.write_text("Ann: hello")
    outcome = client_run("import", str(file))
    assert outcome.status == 0, outcome.stderr
