"""The measurements of several processes that are one server, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from prometheus_client import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

LABEL = "worker"
"""Says of which process a measurement is. Where one is started again, only its own counters begin anew."""


class Colleagues(Protocol):
    """The other processes of a server, as one of them sees them."""

    @property
    def number(self) -> int:
        """Which of them this one is."""

    async def measurements(self) -> Mapping[int, list[Metric]]:
        """What the others have measured, by their numbers; one that does not say so in time is left out."""


class Together(Collector):
    """The families of several processes by their numbers, each sample labelled with that."""

    def __init__(self, measured: Mapping[int, Iterable[Metric]]) -> None:
        self._measured = measured

    def collect(self) -> Iterator[Metric]:
        together: dict[str, Metric] = {}
        for number, families in sorted(self._measured.items()):
            for family in families:
                all_of = together.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                all_of.samples += [_labelled(sample, number) for sample in family.samples]
        yield from together.values()


def _labelled(sample: Sample, number: int) -> Sample:
    return sample._replace(labels={**sample.labels, LABEL: str(number)})
