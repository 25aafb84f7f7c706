"""What all clients of a run share."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.reliability.ledger import Ledger
from benchmarks.reliability.samples import Sample
from benchmarks.reliability.texts import Texts

_KEPT = 200


@dataclass(slots=True)
class Faults:
    """What should never be: how often, and the first of them in words."""

    count: int = 0
    told: list[str] = field(default_factory=list)

    def __call__(self, what: str) -> None:
        self.count += 1
        if len(self.told) < _KEPT:
            self.told.append(what)


@dataclass(slots=True)
class Load:
    """``agents`` are ids by name. Faults are kept by what they are against: answers are wrong, or of a wrong kind."""

    texts: Texts
    agents: dict[str, str] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    samples: list[Sample] = field(default_factory=list)
    wrong: Faults = field(default_factory=Faults)
    unexplained: Faults = field(default_factory=Faults)
