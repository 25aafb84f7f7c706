"""What a hop costs: the product's shares, a server's, an agent's, and what one request says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from engram.agents.schemas import AgentCreate, AgentUpdate
from engram.cli.configuration import load_settings
from engram.cli.errors import CommandError
from engram.services import Services, assemble
from engram.settings import Settings
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space, ids, new_space


async def pair(space: Space) -> tuple[str, str]:
    one, other = ids(
        await space.remember_all(
            {"content": f"memory {place}", "embedding": space.vector(*[0.0] * place, 1.0)} for place in range(2)
        )
    )
    await space.link(one, other, "causal", weight=0.5)
    return one, other


async def score_of_a_hop(space: Space, one: str, other: str, **asked: Any) -> float:
    hits = await space.hits(embedding=space.vector(1), lexical=False, max_hops=1, **asked)
    return hits[other].graph_score / hits[one].vector_score


async def configured(services: Services, make_settings: Callable[..., Settings], **values: Any) -> Services:
    url = services.settings.database_url
    assert url is not None
    settings = make_settings(url.get_secret_value(), **values)
    return await assemble(settings, services.database, services.embedder)


async def test_an_agents_shares_go_before_the_servers_and_a_requests_penalty_before_both(
    shared_services: Services, make_settings: Callable[..., Settings]
) -> None:
    services = await configured(
        shared_services, make_settings, decay_multipliers={"causal": 0.5, "temporal": 0.4}, hop_penalty=0.2
    )
    space = await new_space(services)
    one, other = await pair(space)

    async def shown() -> float:
        (edge,) = await space.edges(one)
        return edge.decay_multiplier

    assert await shown() == 0.5
    assert await score_of_a_hop(space, one, other) == pytest.approx(0.8 * 0.5 * 0.5)

    async def update(**changes: Any) -> None:
        await services.agents.update(DEFAULT_SCOPE, space.agent_id, AgentUpdate(**changes))

    await update(decay_multipliers={"causal": 1}, hop_penalty=0)
    assert (await services.agents.get(DEFAULT_SCOPE, space.agent_id)).decay_multipliers == {"causal": 1}
    assert (await space.link(one, other, "causal")).decay_multiplier == await shown() == 1
    assert await score_of_a_hop(space, one, other) == pytest.approx(1)
    assert await score_of_a_hop(space, one, other, hop_penalty=0.3) == pytest.approx(0.7)
    (step,) = (await space.hits(embedding=space.vector(1), lexical=False, explain=True))[other].path[1:]
    assert step.multiplier == 1

    # Back to the server's, one after the other.
    await update(hop_penalty=None)
    assert await score_of_a_hop(space, one, other) == pytest.approx(0.8)
    hits = await space.hits(embedding=space.vector(1), lexical=False, explain=True)
    assert hits[other].explain is not None
    assert hits[other].explain.hop_penalty == 0.2
    await update(decay_multipliers={})
    assert await shown() == 0.5


async def test_an_agent_may_be_made_with_shares_of_its_own(shared_services: Services) -> None:
    space = await new_space(shared_services, decay_multipliers={"causal": 0.25}, hop_penalty=0.5)
    one, other = await pair(space)
    assert await score_of_a_hop(space, one, other) == pytest.approx(0.5 * 0.5 * 0.25)
    stranger = await new_space(shared_services)
    one, other = await pair(stranger)
    assert await score_of_a_hop(stranger, one, other) == pytest.approx(0.95 * 0.5 * 0.97)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"decay_multipliers": {"causal": share}} for share in (0, -0.1, 1.01, float("nan"), True, "much")),
        {"decay_multipliers": {"likes": 0.5}},
        *({"hop_penalty": penalty} for penalty in (-0.1, 1, float("nan"), True)),
    ],
)
def test_shares_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    for model, right in ((AgentCreate, {"name": "a"}), (AgentUpdate, {})):
        with pytest.raises(ValidationError):
            model.model_validate(right | wrong)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ENGRAM_DECAY_MULTIPLIERS", '{"causal": 2}'),
        ("ENGRAM_DECAY_MULTIPLIERS", '{"likes": 0.5}'),
        ("ENGRAM_DECAY_MULTIPLIERS", "causal=0.5"),
        ("ENGRAM_DECAY_MULTIPLIERS", "[1]"),
        ("ENGRAM_HOP_PENALTY", "1"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(CommandError, match=variable):
        load_settings()


def test_settings_are_read_as_json_and_blank_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_DECAY_MULTIPLIERS", '{"causal": 0.5}')
    assert load_settings().decay_multipliers == {"causal": 0.5}
    monkeypatch.setenv("ENGRAM_DECAY_MULTIPLIERS", " ")
    assert load_settings().decay_multipliers == {}
