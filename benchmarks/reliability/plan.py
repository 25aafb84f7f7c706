"""How long a run takes, who asks, and what fails when. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Cause(StrEnum):
    """What is done to the dependencies of the server."""

    restart = "Postgres restarted"
    embedder = "the embedder fails"
    kill = "Postgres killed"

    @property
    def of_database(self) -> bool:
        return self is not Cause.embedder


@dataclass(frozen=True, slots=True)
class Planned:
    """A disturbance, ``at`` seconds after the load began; ``seconds`` is how long the embedder fails."""

    cause: Cause
    at: float
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What was done, and from when to when the dependency was away, on the monotonic clock."""

    cause: Cause
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A run. All times are in seconds; ``embedding_timeout`` is how long the server waits for the embedder."""

    seconds: float
    clients: int
    disturbances: tuple[Planned, ...]
    agents: int = 8
    embedding_timeout: float = 2.0

    @classmethod
    def over(cls, minutes: float, clients: int) -> Self:
        """A restart, a failing embedder and a kill, spread over the run. Of ten minutes the embedder fails one."""
        seconds = minutes * 60
        disturbances = (
            Planned(Cause.restart, 0.2 * seconds),
            Planned(Cause.embedder, 0.4 * seconds, 0.1 * seconds),
            Planned(Cause.kill, 0.7 * seconds),
        )
        return cls(seconds, clients, disturbances)
