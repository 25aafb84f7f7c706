"""Importing into a server: all or nothing of a malformed file, once and again, and what happens on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram import Engram

from .conftest import Run


def write(path: Path, *records: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def count(client: Engram, agent: str = "default") -> int:
    return sum(client.agents.stats(found.id).memories for found in client.agents.list(name=agent))


def test_a_file_is_imported_once_however_often(client_run: Run, client: Engram, tmp_path: Path) -> None:
    file = write(tmp_path / "notes.ndjson", *({"text": f"Note {number}"} for number in range(2500)))
    first = client_run("import", file)
    assert (first.status, first.stderr) == (0, "")
    assert first.stdout == "Created 2,500, already there 0.\n"
    assert client_run("import", file).stdout == "Created 0, already there 2,500.\n"
    assert count(client) == 2500


def test_programs_are_told_in_json(client_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": None}]))
    assert client_run("import", str(file), "--json").json == {
        "memories": 1,
        "created": 1,
        "already_there": 0,
        "left_out": 1,
        "linked": True,
    }


def test_messages_that_are_left_out_are_counted(client_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": None}]))
    assert "1 message without text left out." in client_run("import", str(file)).stdout


def test_the_turns_of_a_conversation_are_linked_in_their_order(client_run: Run, client: Engram) -> None:
    client_run("import", "-", "--agent", "clerk", stdin=b"Alice: one\nBob: two\nAlice: three")
    agent = client.agents.list(name="clerk").data[0]
    by_text = {memory.content: memory for memory in client.memories.list(agent.id)}
    assert len({memory.session_id for memory in by_text.values()}) == 1
    middle = {
        (edge.direction.value, edge.target_memory_id)
        for edge in client.graph.get_edges(by_text["Bob: two"].id)
        if edge.relation_type == "temporal"
    }
    assert middle == {("in", by_text["Alice: one"].id), ("out", by_text["Alice: three"].id)}


def test_stdin_imported_again_is_the_same_session(client_run: Run) -> None:
    for told in ("Created 2, already there 0.\n", "Created 0, already there 2.\n"):
        assert client_run("import", "-", stdin=b"Alice: one\nBob: two").stdout == told


def test_nothing_of_a_malformed_file_is_written(client_run: Run, client: Engram, tmp_path: Path) -> None:
    file = tmp_path / "notes.ndjson"
    file.write_text('{"text": "good"}\n{"text": ""}\n{"text": "also good"}\nnonsense\n')
    outcome = client_run("import", str(file))
    assert outcome.status == 1
    assert outcome.stdout == ""
    lines = outcome.stderr.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == ["line 2", "line 4", "nothing was written"]
    assert list(client.agents.list()) == []


def test_of_very_many_malformed_lines_the_first_are_told(client_run: Run, tmp_path: Path) -> None:
    file = tmp_path / "notes.ndjson"
    file.write_text("nonsense\n" * 1000)
    outcome = client_run("import", str(file))
    assert outcome.status == 1
    assert len(outcome.stderr.splitlines()) < 30
    assert "1,000" in outcome.stderr


def test_what_only_the_server_can_refuse_is_told_by_its_line(client_run: Run, client: Engram, tmp_path: Path) -> None:
    records: list[dict[str, object]] = [{"text": f"Note {number}"} for number in range(1200)]
    records[1100] |= {"embedding": [1.0, 0.0, 0.0]}
    outcome = client_run("import", write(tmp_path / "notes.ndjson", *records))
    assert outcome.status == 1
    told, written = outcome.stderr.splitlines()[::-1]
    assert told.startswith("engram: line 1101: embedding: ")
    assert "1,000 of 1,200" in written
    assert count(client) == 1000


def test_a_dry_run_writes_nothing_and_needs_no_server(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "notes.ndjson", {"text": "a"}, {"text": "b"})
    outcome = run("import", file, "--dry-run", "--url", "http://127.0.0.1:1")
    assert outcome.status == 0
    assert outcome.stdout == "2 memories could be written; nothing was.\n"


def test_an_empty_file_holds_nothing_to_write(client_run: Run, client: Engram, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    assert client_run("import", str(tmp_path / "empty.txt")).stdout == "Created 0, already there 0.\n"
    assert list(client.agents.list()) == []


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_a_file_that_cannot_be_read_is_one_line(run: Run, tmp_path: Path, name: str) -> None:
    outcome = run("import", str(tmp_path / name))
    assert outcome.status == 1
    assert outcome.stderr.count("\n") == 1
    assert str(tmp_path) in outcome.stderr
