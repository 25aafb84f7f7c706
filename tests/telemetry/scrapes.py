"""Reading a scrape as Prometheus does."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Scraped:
    text: str

    @property
    def families(self) -> list[Metric]:
        return list(text_string_to_metric_families(self.text))

    def series(self, name: str) -> dict[tuple[str, ...], float]:
        """Values by the labels' values, in the order of the labels' names."""
        return {
            tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
            for family in self.families
            for sample in family.samples
            if sample.name == name
        }

    def value(self, name: str, *labels: str) -> float:
        return self.series(name)[labels]

    def names(self) -> set[str]:
        return {sample.name for family in self.families for sample in family.samples}


async def scrape(http: httpx.AsyncClient, **headers: str) -> Scraped:
    response = await http.get("/metrics", headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scraped(response.text)
