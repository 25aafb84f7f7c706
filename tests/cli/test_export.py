"""A whole agent through the command line: out to a file, and in again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engram import Engram

from .conftest import Run


@pytest.fixture
def filled(client: Engram) -> str:
    """The id of an agent with two memories and an edge."""
    agent = client.agents.create("clerk")
    first = client.memories.create(agent.id, "Alice moved to Lisbon.")
    second = client.memories.create(agent.id, "Alice works in Porto.")
    client.graph.create_edge(first.id, second.id, "causal")
    return agent.id


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def told(content: bytes) -> list[dict[str, Any]]:
    """What an export says of what it holds."""
    return [line for line in lines(content) if line["type"] not in ("header", "footer")]


def test_an_agent_is_moved_by_file(client_run: Run, client: Engram, filled: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "clerk.ndjson", tmp_path / "clerk.ndjson.gz"
    done = client_run("export", "clerk", "-o", str(plain))
    assert (done.status, done.stdout) == (0, "")
    assert done.stderr.startswith("Exported ")
    assert client_run("export", filled, "--output", str(packed), "--gzip").status == 0
    assert told(gzip.decompress(packed.read_bytes())) == told(plain.read_bytes())
    assert sorted(tmp_path.iterdir()) == [plain, packed]

    checked = client_run("import", str(plain), "--dry-run")
    assert checked.stdout == "An agent with 2 memories and 1 edge could be made; nothing was.\n"
    taken = client_run("import", str(plain))
    assert (taken.status, "holds something" in taken.stderr) == (1, True)
    beside = client_run("import", str(packed), "--agent", "cook", "--new-ids")
    assert beside.stdout == "Made the agent 'cook' of 2 memories and 1 edge.\n", beside.stderr
    client.agents.delete(filled)
    piped = client_run("import", "-", "--json", stdin=packed.read_bytes())
    assert piped.status == 0, piped.stderr
    made = piped.json
    assert (made["agent"]["name"], made["counts"]["memory"], made["embedded"]) == ("clerk", 2, 0)
    again = b"".join(client.agents.export(made["id"]))
    assert told(again) == told(plain.read_bytes())


def test_what_was_left_out_is_made_again(client_run: Run, client: Engram, filled: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.ndjson"
    assert client_run("export", "clerk", "-o", str(bare), "--no-embeddings", "--no-history").status == 0
    assert "embedding" not in lines(bare.read_bytes())[1]
    assert client_run("import", str(bare), "--agent", "cook", "--new-ids", "--json").json["embedded"] == 2
    later = client_run("export", "clerk", "-o", str(bare), "--as-of", "2020-01-01")
    assert (later.status, told(bare.read_bytes())) == (0, [])


def test_what_cannot_be_is_said_in_a_line(client_run: Run, filled: str, tmp_path: Path) -> None:
    file = tmp_path / "clerk.ndjson"
    client_run("export", "clerk", "-o", str(file))
    whole = file.read_bytes()
    for content, arguments, said in (
        (whole[: whole.rindex(b"\n{") + 1], ("--dry-run",), "footer"),
        (whole.replace(b"Porto", b"Paris"), ("--dry-run",), "changed"),
        (whole.replace(b"Porto", b"Paris"), ("--new-ids", "--agent", "cook"), "sha256"),
        (whole, ("--user", "u"), "an export says itself"),
        (b'{"text": "a"}\n', ("--new-ids",), "no export of an agent"),
        (b'{"text": "a"}\n', ("--format", "export"), "no export of an agent"),
    ):
        file.write_bytes(content)
        refused = client_run("import", str(file), *arguments)
        assert (refused.status, said in refused.stderr) == (1, True), refused.stderr
    nobody = client_run("export", "nobody", "-o", str(tmp_path / "nobody"))
    assert (nobody.status, "there is no agent" in nobody.stderr) == (1, True)
    assert not (tmp_path / "nobody").exists()


def test_a_graph_is_written_for_other_programs(client_run: Run, client: Engram, filled: str, tmp_path: Path) -> None:
    client.memories.create(filled, "Ada met Bob.", entities=["Ada", "Bob"])
    plain, packed = tmp_path / "clerk.graphml", tmp_path / "clerk.jsonld.gz"
    done = client_run("export-graph", "clerk", "-o", str(plain))
    assert (done.status, done.stdout) == (0, "")
    assert done.stderr == f"Exported {plain.stat().st_size:,} bytes.\n"
    assert b"".join(client.agents.export_graph(filled)).count(b"<node ") == plain.read_bytes().count(b"<node ") >= 2
    assert client_run("export-graph", "clerk", "-o", str(packed), "--format", "jsonld", "--all", "--gzip").status == 0
    kinds = [each["@type"] for each in json.loads(gzip.decompress(packed.read_bytes()))["@graph"]]
    assert "CoOccurrence" in kinds
    assert sorted(tmp_path.iterdir()) == [plain, packed]
    assert client_run("export-graph", "nobody", "-o", str(plain)).status == 1
