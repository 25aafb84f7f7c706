"""Remembering and recalling through a server, as a person at a terminal does."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from engram import Engram

from .conftest import Run

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def remember(run: Run, *arguments: str) -> str:
    """The id of what was remembered."""
    outcome = run("remember", *arguments)
    assert (outcome.status, outcome.stderr) == (0, "")
    (id,) = re.findall(UUID, outcome.stdout)
    return str(id)


def test_what_is_remembered_is_stored_with_all_that_was_said(client_run: Run, client: Engram) -> None:
    id = remember(
        client_run,
        *(
            "Alice leads billing",
            "--agent",
            "clerk",
            "--subject",
            "Alice",
            "--entity",
            "billing",
            "--tag",
            "a",
            "--tag",
        ),
        *("b", "--user", "u", "--session", "s", "-m", "k=v=w", "-m", '{"n": 1}', "--at", "2026-05-01T12:00+02:00"),
    )
    memory = client.memories.get(id)
    assert (memory.content, memory.user_id, memory.session_id) == ("Alice leads billing", "u", "s")
    assert (memory.tags, memory.metadata) == (["a", "b"], {"k": "v=w", "n": 1})
    assert memory.valid_from == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert {(entity.name, entity.role.value) for entity in memory.entities} == {
        ("Alice", "subject"),
        ("billing", "mention"),
    }
    assert [agent.name for agent in client.agents.list()] == ["clerk"]


def test_the_same_text_is_stored_once_and_said_to_be_there(client_run: Run) -> None:
    first = client_run("remember", "Alice leads billing")
    again = client_run("remember", "Alice leads billing")
    assert first.stdout.startswith("Remembered: ")
    assert again.stdout == first.stdout.replace("Remembered", "Already there")


def test_text_may_come_from_stdin(client_run: Run, client: Engram) -> None:
    outcome = client_run("remember", "-", "--json", stdin=b"\xef\xbb\xbf Zo\xc3\xab\r\nleads billing\n")
    assert client.memories.get(outcome.json["id"]).content == "Zoë\r\nleads billing"
    for nothing in (b"", b" \n"):
        assert client_run("remember", "-", stdin=nothing).status == 1
    assert "not UTF-8" in client_run("remember", "-", stdin=b"\xff").stderr


def test_recall_shows_ranks_scores_and_the_path_in_words(client_run: Run, client: Engram) -> None:
    engineer = remember(client_run, "User is a software engineer")
    company = remember(client_run, "The company was bought by Stripe")
    client.graph.create_edge(engineer, company, "causal")
    outcome = client_run("recall", "software engineer")
    assert outcome.status == 0
    assert outcome.stderr == ""
    assert "via causal ← “User is a software engineer” (0.97)" in " ".join(outcome.stdout.split())
    assert engineer in outcome.stdout
    assert company in outcome.stdout
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 80
    assert "\x1b" not in outcome.stdout


def test_a_path_names_memories_that_are_not_among_the_hits(client_run: Run, client: Engram) -> None:
    engineer = remember(client_run, "User is a software engineer")
    company = remember(client_run, "The company was bought by Stripe")
    client.graph.create_edge(engineer, company, "causal")
    shown = client_run("recall", "Stripe bought the software company", "--top-k", "1", "--explain").stdout
    assert company in shown
    assert engineer not in shown
    assert "via causal ← “User is a software engineer”" in " ".join(shown.split())


def test_recall_answers_programs_in_json(client_run: Run, client: Engram) -> None:
    remember(client_run, "Alice leads billing", "--session", "s")
    remember(client_run, "Bob sells bread", "--session", "s")
    answer = client_run("recall", "Who leads billing?", "--json", "--explain", "--top-k", "2").json
    agent = client.agents.list(name="default").data[0]
    response = client.memories.recall(agent.id, "Who leads billing?", top_k=2, explain=True)
    assert answer["results"] == response.model_dump(mode="json")["results"]
    assert answer["query"] == "Who leads billing?"


def test_an_explanation_adds_up_on_screen(client_run: Run) -> None:
    remember(client_run, "Alice leads billing", "--session", "s")
    remember(client_run, "Bob sells bread", "--session", "s")
    shown = " ".join(client_run("recall", "Who leads billing?", "--explain", "-g", "0.5").stdout.split())
    sums = re.findall(r"0\.50 × ([\d.]+) vector \+ 0\.50 × ([\d.]+) graph = ([\d.]+) \+ ([\d.]+) = ([\d.]+)", shown)
    assert len(sums) == 2
    for vector, graph, vector_part, graph_part, score in (map(float, numbers) for numbers in sums):
        assert vector_part == pytest.approx(vector / 2, abs=1e-3)
        assert graph_part == pytest.approx(graph / 2, abs=1e-3)
        assert score == pytest.approx(vector_part + graph_part, abs=2e-3)
    chains = re.findall(r"graph ([\d.]+) = ([\d.]+(?: × [\d.]+)+)", shown)
    assert chains
    for graph, factors in chains:
        product = 1.0
        for factor in factors.split(" × "):
            product *= float(factor)
        assert product == pytest.approx(float(graph), abs=2e-2)


def test_options_narrow_what_is_found(client_run: Run) -> None:
    remember(client_run, "Alice leads billing", "--user", "u", "--tag", "x", "--at", "2026-01-01")
    remember(client_run, "Bob leads sales", "--session", "s", "-m", "floor=4", "--at", "2026-03-01")
    alice, bob = {"Alice leads billing"}, {"Bob leads sales"}
    for options, expected in {
        (): alice | bob,
        ("--user", "u"): alice,
        ("--session", "s"): bob,
        ("--tag", "x", "--tag", "y"): alice,
        ("--metadata", "floor=4"): bob,
        ("--since", "2026-02-01"): bob,
        ("--until", "2026-02-01"): alice,
        ("--as-of", "2026-01-15"): alice,
        ("--top-k", "1"): alice,
        ("--min-score", "1"): set(),
    }.items():
        answer = client_run("recall", "Who leads billing?", "--json", *options).json
        assert {hit["content"] for hit in answer["results"]} == expected, options


def test_options_change_how_it_is_ranked(client_run: Run) -> None:
    remember(client_run, "Alice leads billing", "--session", "s")
    remember(client_run, "Bob sells bread", "--session", "s")
    for options, expected in {
        (): (1.0, "temporal"),
        ("--no-lexical",): (0.0, "temporal"),
        ("--max-hops", "0"): (1.0, None),
        ("--relation", "causal"): (1.0, None),
    }.items():
        first, second = client_run("recall", "Who leads billing?", "--json", *options).json["results"]
        assert first["lexical_score"] == expected[0], options
        assert (second["path"][-1]["relation_type"] if second["path"] else None) == expected[1], options


def test_asking_makes_no_agent(client_run: Run, client: Engram) -> None:
    outcome = client_run("recall", "x", "--agent", "nobody")
    assert outcome.status == 1
    assert "'nobody'" in outcome.stderr
    assert list(client.agents.list()) == []


def test_an_agent_may_be_named_by_its_id(client_run: Run, client: Engram) -> None:
    agent = client.agents.create("clerk")
    remember(client_run, "Alice leads billing", "--agent", agent.id)
    (hit,) = client_run("recall", "Alice", "--agent", agent.id, "--json").json["results"]
    assert hit["agent_id"] == agent.id


def test_nothing_found_is_said(client_run: Run, client: Engram) -> None:
    client.agents.create("default")
    outcome = client_run("recall", "anything")
    assert outcome.status == 0
    assert "Nothing was found." in outcome.stdout


def test_what_the_server_refuses_names_the_field(client_run: Run, client: Engram) -> None:
    client.agents.create("default")
    for arguments, field in {
        ("remember", "x", "--at", "tomorrow"): "valid_from",
        ("remember", " "): "content",
        ("remember", "x", "--user", ""): "user_id",
        ("recall", "x", "--as-of", "noon"): "as_of",
        ("recall", "x", "--metadata", '{"a": {"near": 1}}'): "metadata",
        ("edges", "12"): "memory_id",
    }.items():
        outcome = client_run(*arguments)
        assert outcome.status == 1
        assert outcome.stderr.startswith(f"engram: {field}")
        assert outcome.stderr.count("\n") == 1


def test_what_was_stored_cannot_steer_the_terminal(client_run: Run) -> None:
    id = remember(client_run, "Alice \x1b[2J leads \u202egnillib")
    for shown in (client_run("recall", "Alice").stdout, client_run("edges", id).stdout):
        assert "Alice" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_markup_in_a_memory_is_shown_as_it_is(client_run: Run) -> None:
    remember(client_run, "Use [bold]this[/bold] and [/nothing]")
    assert "Use [bold]this[/bold] and [/nothing]" in client_run("recall", "Use this").stdout
