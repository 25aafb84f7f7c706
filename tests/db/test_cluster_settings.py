"""The embedded server takes its share of the memory, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram.db import cluster_settings
from engram.db.machine import memory_bytes

GB = 1024**3


@pytest.mark.parametrize(
    ("memory", "buffers"),
    [(GB // 4, "128MB"), (GB, "128MB"), (4 * GB, "512MB"), (8 * GB, "1024MB"), (256 * GB, "1024MB")],
)
def test_an_eighth_of_the_memory_is_for_pages(monkeypatch: pytest.MonkeyPatch, memory: int, buffers: str) -> None:
    monkeypatch.setattr(cluster_settings, "memory_bytes", lambda: memory)
    assert f"shared_buffers = '{buffers}'" in cluster_settings.server_settings(Path("/socket"), {}).splitlines()


def test_what_a_caller_sets_goes_over_it() -> None:
    lines = cluster_settings.server_settings(Path("/socket"), {"shared_buffers": "16MB"}).splitlines()
    assert [line for line in lines if line.startswith("shared_buffers")] == ["shared_buffers = '16MB'"]


def test_there_is_memory() -> None:
    assert 64 * 1024**2 < memory_bytes() < 1024**5
