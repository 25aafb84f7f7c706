"""Listing memories, and deleting those that match."""

from __future__ import annotations

import pytest

from engram import Engram

from .conftest import Run


@pytest.fixture
def written(client: Engram) -> list[str]:
    """Ids: two of Ada's, one of them red, and one of Bob's."""
    agent = client.agents.create("default")
    items = [
        {"content": "Ada rows", "user_id": "ada", "tags": ["red"], "metadata": {"n": 3}, "valid_from": "2020-01-01"},
        {"content": "Ada reads", "user_id": "ada", "metadata": {"n": 9}},
        {"content": "Bob sings", "user_id": "bob"},
    ]
    return [result.id for result in client.memories.create_many(agent.id, items).results]


def test_memories_are_listed_and_chosen(client_run: Run, written: list[str]) -> None:
    shown = client_run("memories").stdout
    places = [shown.index(text) for text in ("Bob sings", "Ada reads", "Ada rows")]
    assert places == sorted(places)
    assert all(id in shown for id in written)
    assert "3 memories" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80

    def found(*options: str) -> list[str]:
        return [memory["id"] for memory in client_run("memories", "--json", *options).json["data"]]

    assert found() == written[::-1]
    assert found("--limit", "1") == written[2:]
    assert "1 of 3 memories" in client_run("memories", "--limit", "1").stdout
    assert found("--user", "ada", "--tag", "red") == written[:1]
    assert found("-m", '{"n": {"gt": 3}}') == written[1:2]
    assert found("--as-of", "2020-06-01") == found("--until", "2021-01-01") == written[:1]
    assert found("--known-at", "2020-06-01") == found("--key", "k") == found("--key-prefix", "k") == []
    assert found("--updated-since", "2020-06-01", "--since", "2020-06-01") == written[:0:-1]
    assert found("--status", "deleted") == found("--source", "shop") == []
    assert "There are none" in client_run("memories", "--user", "eve").stdout


def test_what_matches_is_deleted_after_a_look(client_run: Run, client: Engram, written: list[str]) -> None:
    preview = client_run("forget", "--user", "ada", "--dry-run")
    assert "2 memories would be deleted" in preview.stdout
    assert "Ada rows" in preview.stdout
    assert "Bob sings" not in preview.stdout
    unasked = client_run("forget", "--user", "ada")
    assert (unasked.status, "--yes" in unasked.stderr) == (1, True)
    assert len(client_run("memories", "--json").json["data"]) == 3
    done = client_run("forget", "--user", "ada", "--yes")
    assert (done.status, done.stdout.strip()) == (0, "Deleted 2 memories.")
    assert [memory["id"] for memory in client_run("memories", "--json").json["data"]] == written[2:]
    nothing = client_run("forget", "--yes")
    assert (nothing.status, "say which memories" in nothing.stderr, "or --all" in nothing.stderr) == (1, True, True)
    answer = client_run("forget", "--all", "--yes", "--json").json
    assert (answer["matched"], answer["deleted"], answer["remaining"]) == (1, 1, 0)
