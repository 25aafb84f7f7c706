"""Workers that look at the queue more often than in life: tests wait for what they do."""

from __future__ import annotations

import pytest

from engram.jobs import worker


@pytest.fixture(autouse=True)
def _impatient_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.1)
