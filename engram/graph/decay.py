"""What a hop costs: a share that each relation keeps, and a penalty for every hop. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from engram.graph.relations import MULTIPLIERS
from engram.graph.schemas import RelationType

HOP_PENALTY = 0.05


@dataclass(frozen=True, slots=True)
class Decay:
    """A hop over an edge keeps ``(1 - hop_penalty) * weight * multiplier`` of the score that it carries.

    Multipliers are in (0, 1], the hop penalty is in [0, 1).
    """

    multipliers: Mapping[RelationType, float] = field(default_factory=lambda: MULTIPLIERS)
    hop_penalty: float = HOP_PENALTY

    def changed(
        self, multipliers: Mapping[RelationType, float] | Mapping[str, float] | None, hop_penalty: float | None = None
    ) -> Decay:
        """This one where nothing else is said: what an agent or a request says goes before."""
        if not multipliers and hop_penalty is None:
            return self
        said = {str(relation): share for relation, share in (multipliers or {}).items()}
        return Decay(
            {relation: said.get(relation.value, share) for relation, share in self.multipliers.items()},
            self.hop_penalty if hop_penalty is None else hop_penalty,
        )

    def over(self, relation_types: Collection[RelationType] | None = None) -> dict[str, float]:
        """Multipliers by name, of all relations or of these."""
        wanted = set(RelationType) if relation_types is None else set(relation_types)
        return {relation.value: share for relation, share in self.multipliers.items() if relation in wanted}
