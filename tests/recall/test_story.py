"""The case for a graph: a memory that says nothing like the question, and yet answers it."""

from __future__ import annotations

import pytest

from engram import Engram
from tests.fixtures.spaces import Space, ids

QUERY = "What does this user do for work?"
A = "User is a software engineer"
B = "User's company was acquired by Stripe last month"
C = "User's team uses Go for all backend services"

DISTRACTORS = [
    "User works out at the gym three times a week",
    "User does yoga on Sunday mornings",
    "User is learning to bake sourdough bread",
    "User's sister works as a nurse in Denver",
    "User prefers a quiet room with a window",
    "User does the weekly shopping on Saturdays",
    "User is allergic to peanuts",
    "User's favourite colour is dark green",
    "User moved to Portland in 2021",
    "User's cat is called Miso",
    "User does not drink coffee after noon",
    "User is planning a trip to Lisbon in spring",
    "User's father drove trains for the railway",
    "User likes to do crossword puzzles on the train",
    "User is reading a book about the Roman Empire",
    "User plays the cello in an amateur orchestra",
    "User asked for help with a tax return",
    "User's car needs new brakes",
    "User usually does laundry on Mondays",
    "User is vegetarian but eats fish",
    "User has a vegetable garden behind the house",
    "User's brother is getting married in June",
    "User wants to do a half marathon this year",
    "User has an appointment with the dentist on Friday",
    "User is trying to sleep eight hours a night",
    "User's neighbour plays the drums at night",
    "User volunteers at an animal shelter",
    "User is afraid of flying",
    "User's old laptop is broken",
    "User is a fan of detective stories",
]


async def told(space: Space) -> tuple[str, str, str]:
    """All memories, of which only the first two are linked, as the one caused the other."""
    a, b, c, *_ = ids(await space.remember_all([A, B, C, *DISTRACTORS]))
    await space.link(a, b, "causal")
    return a, b, c


async def test_by_vector_alone_the_answer_is_not_among_the_first(space: Space) -> None:
    await told(space)
    ranking = await space.texts(QUERY, graph_weight=0, lexical=False, max_hops=0, top_k=200)
    assert len(ranking) == 33
    assert ranking.index(B) >= 10


@pytest.mark.parametrize("asked", [{}, {"graph_weight": 0.5}, {"lexical": False}])
async def test_the_graph_brings_it_among_the_first_five(space: Space, asked: dict[str, object]) -> None:
    a, b, _ = await told(space)
    hits = await space.hits(QUERY, top_k=5, **asked)
    assert b in hits
    assert [step.memory_id for step in hits[b].path] == [a, b]
    assert hits[b].path[1].relation_type == "causal"


async def test_without_the_edge_it_stays_where_it_was(space: Space) -> None:
    a, b, _ = await told(space)
    await space.unlink(a, b, "causal")
    assert b not in await space.hits(QUERY, top_k=10)


def test_the_documented_snippets_run_as_they_stand(live_server: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Engram(live_server) as client:
        agent = client.agents.create(name="assistant")
        a, b, *_ = (client.memories.create(agent.id, text).id for text in [A, B, C, *DISTRACTORS])
        client.graph.create_edge(a, b, "causal")

        results = client.memories.recall(
            agent_id=agent.id,
            query="What does this user do for work?",
            top_k=10,
            graph_weight=0.5,  # increase graph influence (default 0.4)
            max_hops=2,  # how deep to traverse (default 2)
        )
        assert len(results) == 10
        assert b in [memory.id for memory in results][:5]

        # Get graph edges for a memory
        edges = client.graph.get_edges(memory_id=b)

        for edge in edges:
            print(f"{edge.relation_type}: {edge.target_memory_id} (weight: {edge.weight:.2f})")  # noqa: T201
    # The server logs to the same place.
    printed = [line for line in capsys.readouterr().out.splitlines() if "weight" in line]
    assert printed == [f"causal: {a} (weight: 1.00)"]
