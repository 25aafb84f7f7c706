"""The server keeps to its OpenAPI document: asked in all ways that it allows, and in many that it forbids."""

from __future__ import annotations

import pytest

from tests.contract import rules  # noqa: F401  # a check is known once it is imported
from tests.contract.document import OPERATIONS, published
from tests.contract.findings import Findings
from tests.contract.world import World


@pytest.mark.parametrize("phase", ["examples", "coverage", "fuzzing"])
def test_the_server_keeps_to_its_document(world: World, phase: str) -> None:
    with world.inhabited():
        found = Findings.of(published(world.url, world.key, phase))
    assert not found.complaints, "\n\n".join(found.complaints[:20])
    if phase == "coverage":  # of some there are no examples, and what is drawn follows what was answered
        # A run in which an operation does nothing but refuse has not tested it.
        assert not [label for label in OPERATIONS if not any(status < 300 for status in found.statuses[label])]
