"""What one answer leads to: operations one after the other, along the links of the document, each kept to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import hypothesis
import pytest
import requests
from schemathesis import Case, Response
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import ensure_resource_availability

from engram.server.links import links_of
from engram.tenants.roles import Role
from tests.contract import rules  # noqa: F401  # a check is known once it is imported
from tests.contract.document import published
from tests.contract.world import World, use_a_new_key
from tests.fixtures.fuzzing import EXAMPLES, SEED, drawing
from tests.fixtures.servers import openapi
from tests.fixtures.tenants import Tenant

SEQUENCES = 2 * EXAMPLES
STEPS = 12
TURNS = 3
TAKING_AWAY = {
    "DELETE /v1/agents/{agent_id}",
    "POST /v1/memories/{memory_id}/purge",
    "POST /v1/facts/{fact_id}/undo",
    "POST /v1/facts/expire-by-adapter",
}
"""Operations after which something is found no more."""

BEGINNINGS = {"RANDOM__GET_v1_agents", "RANDOM__POST_v1_agents"}
"""Others begin with ids that were drawn, and end there."""


def test_whatever_follows_keeps_to_the_document(live_server: str, alder: Tenant) -> None:
    machine: Any = published(live_server, alder.keys[Role.admin], "stateful").as_state_machine()
    statuses: dict[str, Counter[int]] = defaultdict(Counter)

    class Sequence(machine):  # type: ignore[misc]
        def setup(self) -> None:
            # The same requests shall get the same answers, whatever was asked before.
            forget_everything(live_server, alder)
            self.world = World.made(live_server, alder, "a")

        def before_call(self, case: Case) -> None:
            use_a_new_key(case)
            # An edge has two ends, and most answers lead to one.
            if case.operation.label == "POST /v1/graph/edges":
                case.body["target_id"] = self.world.memory_ids[1]

        def validate_response(self, response: Response, case: Case, **_: Any) -> None:
            statuses[case.operation.label][response.status_code] += 1
            # The check knows deletions, but neither what goes with an agent nor what goes otherwise.
            excluded = [ensure_resource_availability] if _took_something_away(self.recorder) else []
            try:
                case.validate_response(response, excluded_checks=excluded, recorder=self.recorder)
            except FailureGroup as failures:
                failures.add_note("\n".join(node.value.as_curl_command() for node in self.recorder.cases.values()))
                raise

    for rule in Sequence.root_rules - BEGINNINGS:
        setattr(Sequence, rule, None)
    followed = {operation_ids()[name] for name in links_of("create_agent")}
    for turn in range(TURNS):
        # What is drawn depends on answers, which have new ids each time: some operation may not have had its turn.
        hypothesis.seed(SEED + turn)(Sequence).run(
            settings=drawing(SEQUENCES, stateful_step_count=STEPS, phases=[hypothesis.Phase.generate])
        )
        left = [label for label in followed if not any(status < 300 for status in statuses[label])]
        if not left:
            return
    pytest.fail(f"{left} never succeeded: {statuses}")


def operation_ids() -> dict[str, str]:
    return {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, methods in openapi()["paths"].items()
        for method, operation in methods.items()
    }


def forget_everything(url: str, tenant: Tenant) -> None:
    """All but the tenant and its keys."""
    with requests.Session() as session:
        session.headers.update(tenant.headers())
        for agent in session.get(f"{url}/v1/agents", params={"limit": 200}, timeout=30).json()["data"]:
            session.delete(f"{url}/v1/agents/{agent['id']}", timeout=30).raise_for_status()


def _took_something_away(recorder: Any) -> bool:
    answers = {id: answered.response for id, answered in recorder.interactions.items()}
    return any(
        node.value.operation.label in TAKING_AWAY and answers[id].status_code < 300
        for id, node in recorder.cases.items()
        if answers.get(id) is not None
    )
