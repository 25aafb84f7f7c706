"""Facts as a graph: bi-temporal triples, and answers over several of them. Usable without a server.

``PostgresFactStore`` needs what ``engram[server]`` installs; the rest needs pydantic only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram.facts.graph import FactGraph
    from engram.facts.paths import Edge, Path, Paths
    from engram.facts.postgres import PostgresFactStore
    from engram.facts.recalling import recall_graph
    from engram.facts.schemas import Fact
    from engram.facts.store import FactStore, InMemoryFactStore

_HOMES = {
    "Edge": "paths",
    "Fact": "schemas",
    "FactGraph": "graph",
    "FactStore": "store",
    "InMemoryFactStore": "store",
    "Path": "paths",
    "Paths": "paths",
    "PostgresFactStore": "postgres",
    "recall_graph": "recalling",
}

__all__ = [
    "Edge",
    "Fact",
    "FactGraph",
    "FactStore",
    "InMemoryFactStore",
    "Path",
    "Paths",
    "PostgresFactStore",
    "recall_graph",
]


def __getattr__(name: str) -> Any:
    # Wire models of this room are the SDK's too, which has no database: what is asked for is loaded then.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
