"""Entities on the command line: walks, chains, and memories by what they name."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from engram import Engram
from engram.cli.entities.taxonomy import communities_table
from engram.client import AgentScope
from engram.entities.communities.schemas import Communities, Community

from .conftest import Run


@pytest.fixture
def scope(client: Engram) -> AgentScope:
    scope = client.agent("default")
    scope.memories.create(
        "The billing service reads invoices from the ledger database.",
        entities=["billing service", "ledger database"],
        valid_from="2026-01-01",
    )
    scope.memories.create(
        "The ledger database was down.", entities=["ledger database", "ledger outage"], valid_from="2026-02-01"
    )
    scope.memories.create("Nobody was told.", entities=["ledger outage"], valid_from="2026-03-01", user_id="ann")
    return scope


def test_a_walk_is_drawn_as_a_tree(client_run: Run, scope: AgentScope) -> None:
    shown = client_run("facts", "traverse", "The Billing Service's").stdout
    assert shown.splitlines() == [
        "billing service",
        "└── ledger database  1 together, degree 2",
        "    └── ledger outage  1 together, degree 1",
        "2 entities",
    ]
    hub = client_run("facts", "traverse", "billing service", "--hub-degree", "2").stdout
    assert hub.splitlines()[1:] == ["└── ledger database  1 together, degree 2  hub", "1 entity, 1 hub"]
    assert "there are more" in client_run("facts", "traverse", "ledger database", "--max-nodes", "1").stdout
    assert client_run("facts", "traverse", "nobody").stdout == "No memory names nobody.\n"
    options = ("--max-hops", "1", "--top-k", "1", "--rank-by", "co_occur", "--hub-share", "0", "--min-co-occur", "1")
    answer = client_run("facts", "traverse", "ledger database", *options, "--as-of", "2026-01-15", "--json").json
    assert [node["name"] for node in answer["nodes"]] == ["billing service"]


def test_a_chain_is_shown_link_by_link(client_run: Run, scope: AgentScope) -> None:
    shown = client_run("facts", "path", "billing service", "ledger outage").stdout
    assert shown.splitlines() == ["billing service", "↔ ledger database  1 memory", "↔ ledger outage  1 memory"]
    none = client_run("facts", "path", "billing service", "ledger outage", "--max-hops", "1").stdout
    assert none == "No chain of at most 1 pair leads there.\n"
    asked = ("facts", "path", "billing service", "ledger outage", "--min-co-occur", "2", "--as-of", "2026-02-02")
    assert client_run(*asked, "--json").json["found"] is False


def test_what_occurs_with_an_entity_is_listed(client_run: Run, scope: AgentScope) -> None:
    shown = client_run("facts", "related", "ledger database").stdout
    assert shown.index("billing service") < shown.index("ledger outage")
    assert "2 entities" in shown
    assert "1 entity, and perhaps more" in client_run("facts", "related", "ledger database", "--limit", "1").stdout
    assert client_run("facts", "related", "nobody").stdout == "Nothing occurs with nobody.\n"
    asked = ("facts", "related", "ledger database", "--min-co-occur", "1", "--as-of", "2026-01-15", "--json")
    assert [one["name"] for one in client_run(*asked).json["data"]] == ["billing service"]


def test_memories_are_shown_by_what_they_name(client_run: Run, scope: AgentScope) -> None:
    last, middle, first = [memory.id for memory in scope.memories.list()]
    shown = client_run("related", middle).stdout
    assert shown.index(last) < shown.index(first)
    assert "ledger outage" in shown
    assert "0.71" in shown
    assert [memory["id"] for memory in client_run("backlinks", middle, "--json").json["data"]] == [last, first]
    assert [memory["id"] for memory in client_run("related", middle, "--user", "ann", "--json").json["data"]] == [last]
    assert client_run("backlinks", middle, "--session", "s").stdout == "It shares no entity with another.\n"
    assert client_run("related", middle, "--as-of", "2020-01-01").stdout == "It shares no entity with another.\n"


def test_an_entity_is_shown_through_time(client_run: Run, scope: AgentScope) -> None:
    shown = client_run("timeline", "Ledger Outage").stdout
    assert shown.index("2026-02-01") < shown.index("2026-03-01")
    newest = client_run("timeline", "ledger outage", "--order", "newest", "--superseded").stdout
    assert newest.index("2026-03-01") < newest.index("2026-02-01")
    within = ("--since", "2026-02-02", "--until", "2026-04-01", "--user", "ann")
    assert "1 memory" in client_run("timeline", "ledger outage", *within).stdout
    assert client_run("timeline", "nobody").stdout == "No such memory names nobody.\n"


def test_what_an_agent_knows_most_of_is_listed(client_run: Run, scope: AgentScope) -> None:
    rows = [line.split() for line in client_run("taxonomy").stdout.splitlines()]
    assert [row for row in rows if len(row) > 2 and row[0].isdigit()] == [
        ["2", "2", "ledger", "database"],
        ["1", "1", "billing", "service"],
        ["1", "2", "ledger", "outage"],
    ]
    assert "1 entity; there are more" in client_run("taxonomy", "--limit", "1").stdout


def test_communities_are_shown_by_their_members() -> None:
    one = Community(id="ledger", display_name="Ledger", entities=7, members=["ledger", "outage"])
    shown = StringIO()
    console = Console(width=60, file=shown)
    console.print(communities_table(Communities(computed_at=None, levels=1, level=0, data=[one])))
    assert ["7", "ledger,", "outage"] in [line.split() for line in shown.getvalue().splitlines()]
