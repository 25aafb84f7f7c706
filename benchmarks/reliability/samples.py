"""What became of each request: when it was sent, when it was answered, and how. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    write = "write"
    write_embedded = "write with its vector"
    batch = "batch of 2 to 20"
    recall = "recall"
    recall_embedded = "recall with its vector"
    get = "get"
    list = "list"
    delete = "delete"
    edge = "edge"
    edges = "edges of a memory"
    agent = "agents"

    @property
    def embeds(self) -> bool:
        """Whether the server asks the embedder for it."""
        return self in (Kind.write, Kind.batch, Kind.recall)


NO_ANSWER = 0
OK = 200

FAILURES = frozenset({408, 429, 502, 503, 504})
"""What a server may answer where something it depends on fails."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A request. Times are of the monotonic clock, in seconds; ``status`` is 200 for every answer that was right to
    give, 404 for what is gone among them, and 0 where there was none."""

    kind: Kind
    began: float
    ended: float
    status: int
    problem: str = ""

    @property
    def ok(self) -> bool:
        return self.status == OK

    @property
    def of_embedder(self) -> bool:
        return self.problem.startswith("embedding-")
