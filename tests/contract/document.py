"""The OpenAPI document as something to be tested, and how."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import schemathesis
from schemathesis.schemas import BaseSchema

from tests.fixtures.fuzzing import EXAMPLES, SEED
from tests.fixtures.servers import openapi


@schemathesis.serializer("application/x-ndjson")
def _lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Text as it is."""
    return str(value).encode("utf-8", "surrogatepass")


PHASES = ("examples", "coverage", "fuzzing", "stateful")
OPERATIONS = [f"{method.upper()} {path}" for path, methods in openapi()["paths"].items() for method in methods]


def published(url: str, key: str, phase: str) -> BaseSchema:
    """What the server at ``url`` publishes, to be tested in one way, with the same requests each time.

    They carry the API key, but for those that ask what happens without it, or with another.

    All checks that there are run on every answer. One is replaced: see ``tests.contract.rules``.
    """
    settings: dict[str, Any] = {
        "base-url": url,
        "auth": {"openapi": {"apiKey": {"bearer": key}}},
        "seed": SEED,
        "generation": {"max-examples": EXAMPLES, "database": "none"},
        "checks": {"positive_data_acceptance": {"enabled": False}},
        "continue-on-failure": True,
        "suppress-health-check": ["all"],
        "cache": {"enabled": False},
        "phases": {name: {"enabled": name == phase} for name in PHASES},
    }
    # What is wrong is asked one by one; a sequence that begins so leads nowhere.
    settings["phases"]["stateful"] |= {"generation": {"mode": "positive"}, "inference": {"algorithms": []}}
    # What is asked with a body, whose ids need not be those of the answer before; the check looks at parameters alone.
    without = {"checks": {"ensure_resource_availability": {"enabled": False}}}
    unchecked = (
        "recall",
        "create_memories",
        "delete_memories",
        "append_fact",
        "append_facts",
        "recall_graph",
        "expire_by_adapter",
    )
    settings["operations"] = [{"include-operation-id": name, **without} for name in unchecked]
    # What it learns from refusals is a guess from their words, which it then asserts.
    settings["phases"]["fuzzing"]["error-feedback"] = {"enabled": False}
    return schemathesis.openapi.from_dict(_drawable(), config=schemathesis.Config.from_dict(settings))


def _drawable() -> dict[str, Any]:
    """The document without a bound on a memory's text: of two million characters of a pattern, nothing is drawn.

    That a text is too long is tested among the hostile inputs.
    """
    document = deepcopy(openapi())
    for name in ("MemoryCreate", "MemoryItem"):
        del document["components"]["schemas"][name]["properties"]["content"]["maxLength"]
    return document
