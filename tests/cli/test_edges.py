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


def test_edges_can_be_chosen_by_label_origin_and_time(client_run: Run, client: Engram) -> None:
    hub, others = connected(client)
    client.graph.create_edge(hub, others[1], "supports", label="depends_on", valid_until="2024-06-01")

    def targets(*options: str) -> list[str]:
        return [edge["target_memory_id"] for edge in client_run("edges", hub, "--json", *options).json["data"]]

    assert targets("--label", "depends_on") == []
    assert targets("--label", "depends_on", "--closed") == [others[1]]
    assert targets("--origin", "thematic") == []
    assert targets("--origin", "thematic", "--origin", "asserted") == others
    assert targets("--as-of", "2024-01-01") == []
    assert client_run("edges", hub, "--known-at", "2024-01-01").status == 1
    assert "until 2024-06-01" in client_run("edges", hub, "--closed").stdout
    client.graph.delete_edge(hub, others[2], "causal")
    assert "deleted" in client_run("edges", hub, "--closed").stdout


def test_what_surrounds_a_memory_is_shown_hop_by_hop(client_run: Run, client: Engram) -> None:
    hub, others = connected(client)
    shown = client_run("neighborhood", others[0]).stdout
    places = [shown.index(text) for text in ("Billing failed", "The outage", "Search failed", "Login failed")]
    assert places == sorted(places)
    assert "4 memories, 3 edges" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "2 memories, 1 edge; there are more" in client_run("neighborhood", hub, "--max-nodes", "2").stdout
    found = client_run("neighborhood", hub, "--json", "--max-hops", "1", "--min-weight", "0.5").json
    assert [node["id"] for node in found["nodes"]] == [hub, *others[:2]]


def test_paths_are_told_step_by_step(client_run: Run, client: Engram) -> None:
    hub, others = connected(client)
    shown = client_run("paths", others[0], others[1]).stdout
    places = [shown.index(text) for text in ("Billing failed", "← causal (0.87) The outage", "→ causal (0.58) Search")]
    assert places == sorted(places)
    (path,) = client_run("paths", others[0], others[1], "--json", "--by", "shortest").json["paths"]
    assert [step["memory_id"] for step in path["steps"]] == [others[0], hub, others[1]]
    assert "No path of at most 1 hops" in client_run("paths", others[0], others[1], "--max-hops", "1").stdout
