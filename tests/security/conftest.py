"""Servers here connect as their own role, as they should, and not as the owner."""

from __future__ import annotations

import pytest

from engram.settings import Settings


@pytest.fixture
def settings(restricted_settings: Settings) -> Settings:
    return restricted_settings
