"""``engram facts triples`` and ``expire``."""

from __future__ import annotations

from engram import Engram

from .conftest import Run


def test_what_memories_state_is_listed_and_expired(client: Engram, client_run: Run) -> None:
    agent = client.agents.create("default")
    for text in ("Anna leads Sales.", "Anna heads the sales team."):
        client.memories.create(agent.id, text, relations=[("Anna", "leads", "Sales")])
    weak = {"subject": "Anna", "predicate": "knows", "object": "Bert", "confidence": 0.2, "adapter_name": "llm"}
    client.memories.create(agent.id, "Perhaps.", relations=[weak])
    shown = client_run("facts", "triples").stdout
    assert "Anna —leads→ Sales" in shown
    assert "2 lines" in shown
    (line,) = client_run("facts", "triples", "--object", "sales", "--json").json["data"]
    assert (line["relation"], line["co_occur"], line["stale"]) == ("leads", 2, False)
    (line,) = client_run("facts", "triples", "--adapter", "llm", "--provenance", "inferred", "--json").json["data"]
    assert line["object"] == "bert"
    assert client_run("facts", "expire", "llm", "--max-confidence", "0.5", "--json").json["expired"] == 1
    assert "Nothing is said" in client_run("facts", "triples", "--entity", "Bert").stdout


def test_what_an_agent_prefers_is_shown_and_said(client: Engram, client_run: Run) -> None:
    agent = client.agents.create("default")
    assert client_run("facts", "ontology").stdout == "It prefers nothing.\n"
    for owner in ("Anna", "Bert"):
        client.memories.create(agent.id, f"{owner} has it.", relations=[("ledger", "owned_by", owner)])
    said = client_run("facts", "ontology", "--verb", "owned by=one", "--attribute", "status=many", "--type", "service")
    shown = ["verb owned_by: one", "attribute status: many", "type service"]
    assert said.stdout.splitlines() == [*shown, "1 fact changed."]
    assert client_run("facts", "ontology").stdout.splitlines() == shown
    assert client_run("facts", "ontology", "--none", "--json").json["changed"] == 1
    assert client_run("facts", "ontology").stdout == "It prefers nothing.\n"
    for wrong in (("--verb", "owned_by"), ("--verb", "owned_by=two"), ("--verb", "=one"), ("--none", "--type", "x")):
        assert client_run("facts", "ontology", *wrong).status == 2
