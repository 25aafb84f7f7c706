"""Showing what a memory is connected to."""

from __future__ import annotations

from engram import Engram

from .conftest import Run


def connected(client: Engram) -> tuple[str, list[str]]:
    """A memory, and the others that it has causal edges to, of falling weight."""
    agent = client.agents.create("default")
    hub = client.memories.create(agent.id, "The outage").id
    others = [client.memories.create(agent.id, f"{what} failed").id for what in ("Billing", "Search", "Login")]
    for weight, other in zip((0.9, 0.6, 0.3), others, strict=True):
        client.graph.create_edge(hub, other, "causal", weight=weight, reason="it was down")
    return hub, others


def test_edges_are_shown_with_the_other_memorys_text(client_run: Run, client: Engram) -> None:
    hub, others = connected(client)
    shown = client_run("edges", hub).stdout
    assert "The outage" in shown
    places = [shown.index(text) for text in ("Billing failed", "Search failed", "Login failed")]
    assert places == sorted(places)
    assert all(other in shown for other in others)
    assert "it was down" in shown
    assert "3 edges" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_an_incoming_edge_points_the_other_way(client_run: Run, client: Engram) -> None:
    hub, others = connected(client)
    assert "→" in client_run("edges", hub).stdout
    assert "←" in client_run("edges", others[0]).stdout


def test_edges_can_be_chosen(client_run: Run, client: Engram) -> None:
    hub, others = connected(client)

    def targets(*options: str) -> list[str]:
        return [edge["target_memory_id"] for edge in client_run("edges", hub, "--json", *options).json["data"]]

    assert targets() == others
    assert targets("--limit", "2") == others[:2]
    assert targets("--min-weight", "0.5") == others[:2]
    assert targets("--relation", "supports") == []
    assert targets("--relation", "supports", "--relation", "causal") == others
    assert targets("--direction", "in") == []


def test_a_limit_that_bites_is_said(client_run: Run, client: Engram) -> None:
    hub, _ = connected(client)
    assert "2 edges, and perhaps more" in client_run("edges", hub, "--limit", "2").stdout


def test_a_lonely_memory_is_said_to_be_one(client_run: Run, client: Engram) -> None:
    agent = client.agents.create("default")
    memory = client.memories.create(agent.id, "Alone")
    outcome = client_run("edges", memory.id)
    assert outcome.status == 0
    assert "not connected" in outcome.stdout


def test_an_unknown_memory_is_an_error(client_run: Run) -> None:
    outcome = client_run("edges", "00000000-0000-7000-8000-000000000000")
    assert outcome.status == 1
    assert outcome.stderr.startswith("engram: There is no memory")
