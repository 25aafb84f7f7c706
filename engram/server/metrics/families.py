"""What is read at the time of a scrape, as families of samples, and a scrape as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from engram.db.pool import PoolStatus
from engram.jobs.schemas import JobKind, JobStatus
from engram.server.metrics.facts import DatabaseFacts


class Scrape(Collector):
    """Everything that one scrape says, in the order of these collectors."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors

    def text(self) -> bytes:
        """In the text format of Prometheus, 0.0.4."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        for collector in self._collectors:
            yield from collector.collect()


class ProcessMeasurements(Collector):
    """What one process has recorded, and its pool."""

    def __init__(self, recorded: Collector, pool: PoolStatus) -> None:
        self._recorded = recorded
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        for family in self._recorded.collect():
            # When a series began is of use to OpenMetrics alone, and would double the text.
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
        pool = self._pool
        yield _gauge("engram_database_pool_limit", "Connections that the pool may open: ENGRAM_POOL_SIZE.", pool.limit)
        yield _labelled(
            "engram_database_pool_connections",
            "Connections that are open.",
            "state",
            {"in_use": pool.in_use, "idle": pool.idle},
        )
        yield _gauge("engram_database_pool_waiting", "Who asked for a connection and has none yet.", pool.waiting)
        yield CounterMetricFamily(
            "engram_database_pool_timeouts",
            "Who waited for a connection for ENGRAM_POOL_TIMEOUT in vain.",
            value=pool.timeouts,
        )


class DatabaseMeasurements(Collector):
    """What only the database knows: the same for all processes on it."""

    def __init__(self, facts: DatabaseFacts, projections: Iterable[str]) -> None:
        self._facts = facts
        self._projections = list(projections)

    def collect(self) -> Iterator[Metric]:
        yield _gauge("engram_database_up", "1 where the database answered this scrape in time.", float(self._facts.up))
        if self._facts.up:
            yield from self._of_projections()
            yield from self._of_jobs()
            yield from self._of_tables()

    def _of_projections(self) -> Iterator[Metric]:
        owed = dict.fromkeys(self._projections, (0.0, 0.0, 0.0)) | {
            one.projection: (one.pending, one.failed, one.oldest_seconds) for one in self._facts.owed
        }
        for place, (name, text) in enumerate(
            (
                ("engram_projections_pending", "Memories that wait for links, or to have entities recognised."),
                ("engram_projections_pending_failed", "Those of them of which an attempt failed."),
                ("engram_projections_oldest_seconds", "How long the oldest of them has waited."),
            )
        ):
            yield _labelled(name, text, "projection", {key: values[place] for key, values in owed.items()})

    def _of_jobs(self) -> Iterator[Metric]:
        found = {(count.kind, count.status): count for count in self._facts.jobs}
        number = GaugeMetricFamily(
            "engram_jobs", "Jobs that wait, run, or were given up as dead.", labels=["kind", "status"]
        )
        oldest = GaugeMetricFamily(
            "engram_jobs_oldest_seconds", "How long the oldest of them is there.", labels=["kind", "status"]
        )
        for kind in JobKind:
            for status in (JobStatus.waiting, JobStatus.running, JobStatus.dead):
                count = found.get((kind.value, status.value))
                number.add_metric([kind.value, status.value], count.jobs if count else 0)
                oldest.add_metric([kind.value, status.value], count.oldest_seconds if count else 0)
        yield number
        yield oldest

    def _of_tables(self) -> Iterator[Metric]:
        sizes = self._facts.sizes
        yield _labelled(
            "engram_table_bytes",
            "Room that a table takes, without its indexes.",
            "table",
            {size.table: size.table_bytes for size in sizes},
        )
        yield _labelled(
            "engram_table_index_bytes",
            "Room that all indexes of a table take.",
            "table",
            {size.table: size.index_bytes for size in sizes},
        )
        yield _labelled(
            "engram_table_rows",
            "About how many rows a table has, as the database last counted; left out before.",
            "table",
            {size.table: size.rows for size in sizes if size.rows >= 0},
        )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _labelled(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
