"""Fixtures of all tests. They live in small modules under ``tests/fixtures``."""

from __future__ import annotations

pytest_plugins = [
    "tests.fixtures.deadlines",
    "tests.fixtures.environment",
    "tests.fixtures.postgres",
    "tests.fixtures.databases",
    "tests.fixtures.services",
    "tests.fixtures.spaces",
    "tests.fixtures.servers",
    "tests.fixtures.tenants",
]
