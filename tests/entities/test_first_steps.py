"""What somebody does who reads of the entity graph for the first time: the same in Python, and by curl."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from engram import AsyncEngram
from engram.services import Services
from engram.tenants.roles import Role
from engram.tenants.schemas import KeyCreate
from engram.tenants.service import OperatorService
from tests.docs.running import run_shell


async def test_the_python_example_walks_from_the_billing_service_and_looks_for_a_chain(live_server: str) -> None:
    printed: list[str] = []

    def print(*values: object) -> None:
        printed.append(" ".join(map(str, values)))

    async with AsyncEngram(base_url=live_server) as client:
        agent = client.agent("sre-bot")
        await agent.memories.set(
            "billing/depends_on",
            "The billing service reads invoices from the ledger database.",
            entities=["billing service", "ledger database"],
        )

        walk = await agent.facts.traverse("billing service", max_hops=2, top_k_per_hop=10)
        for node in walk["nodes"]:
            print(node["hop"], " > ".join(node["path"]), node["via_co_occur"])

        route = await agent.facts.path("billing service", "ledger outage")
        print(route["found"], route["path"], route["truncated"])
        assert printed == ["1 billing service > ledger database 1", "False [] False"]

        # Somebody writes what connects them.
        await agent.memories.create("It began at nine.", entities=["ledger outage", "The Ledger Databases"])
        route = await agent.facts.path("billing service", "ledger outage")
        assert (route["found"], route["path"]) == (True, ["billing service", "ledger database", "ledger outage"])


async def test_the_curl_example_walks_as_the_graph_stood_at_a_past_instant(
    live_server: str, services: Services, tmp_path: Path
) -> None:
    async with AsyncEngram(base_url=live_server) as client:
        agent = await client.agents.create("sre-bot")
        for entities, since in ((["billing service", "ledger database"], "2026-01-01"), (["billing service"], None)):
            await client.memories.create(agent.id, f"since {since}", entities=entities, valid_from=since)
        await client.memories.create(
            agent.id, "later", entities=["billing service", "ledger outage"], valid_from=datetime.now(UTC)
        )
    key = await OperatorService(services.database).create_key(KeyCreate(tenant="default", role=Role.viewer))
    commands = [
        f"ENGRAM_API_KEY={key.key} AGENT={agent.id} AS_OF=2026-02-01T00:00:00Z",
        """curl -s $ENGRAM_BASE_URL/v1/facts/traverse -H "Authorization: Bearer $ENGRAM_API_KEY" \\
            -H 'content-type: application/json' \\
            -d '{"agent_id":"'$AGENT'","seed_entity":"billing service","max_hops":2,"as_of":"'"$AS_OF"'"}'""",
    ]
    *_, (status, answer) = run_shell(commands, live_server, tmp_path)
    assert status == 0
    assert [(node["name"], node["hop"]) for node in json.loads(answer)["nodes"]] == [("ledger database", 1)]
