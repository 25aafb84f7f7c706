"""What is measured, each with the name and the text that a scrape shows. All on a registry of its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from engram import __version__
from engram.telemetry.names import PURPOSES, STAGES, Purpose

_REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_STAGE_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_CANDIDATES = (0, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000)

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Instruments:
    """The measurements of one app. Times are in seconds. No label holds anything that a client chose."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        Gauge("engram_build_info", "Always 1; the label has the version.", ["version"], registry=registry).labels(
            __version__
        ).set(1)

        self._requests = Counter(
            "engram_http_requests", "Requests that were answered.", ["method", "route", "status"], registry=registry
        )
        self._request_seconds = Histogram(
            "engram_http_request_duration_seconds",
            "From a request's arrival to the end of its answer.",
            ["method", "route"],
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self.requests_in_progress = Gauge(
            "engram_http_requests_in_progress", "Requests that are being answered.", registry=registry
        )

        stage_seconds = Histogram(
            "engram_stage_duration_seconds",
            "Parts of an operation, each time that it was gone through.",
            ["operation", "stage"],
            buckets=_STAGE_SECONDS,
            registry=registry,
        )
        # Looked up once: that takes as long as to observe.
        self.stages = {name: stage_seconds.labels(*name.split(".")) for name in STAGES}
        self.recall_candidates = Histogram(
            "engram_recall_candidates",
            "Memories that a recall scored: what its arms and its walk found.",
            buckets=_CANDIDATES,
            registry=registry,
        )
        self.recalls_truncated = Counter(
            "engram_recalls_truncated", "Recalls whose walk was cut short by a cap.", registry=registry
        )
        self.memories_written = Counter("engram_memories_written", "Memories that were stored.", registry=registry)
        self.memories_deduplicated = Counter(
            "engram_memories_deduplicated", "Memories that stood already when they were written.", registry=registry
        )
        self.facts_written = Counter("engram_facts_written", "Facts that were stored.", registry=registry)
        self.projection_failures = Counter(
            "engram_projection_failures",
            "Attempts to link memories, or to recognise entities in them, that failed.",
            ["projection"],
            registry=registry,
        )

        embedder_seconds = Histogram(
            "engram_embedder_duration_seconds",
            "What was asked of the embedder, whether it failed or not; questions whose vector is kept are not asked.",
            ["purpose"],
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self.embedder: dict[Purpose, Histogram] = {name: embedder_seconds.labels(name) for name in PURPOSES}
        self.embedder_failures = Counter(
            "engram_embedder_failures",
            "What was asked of the embedder and failed, by the type of the problem.",
            ["purpose", "type"],
            registry=registry,
        )
        self.slow_statements = Counter(
            "engram_database_slow_statements",
            "SQL statements that took longer than ENGRAM_SLOW_STATEMENT_SECONDS.",
            registry=registry,
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request. ``route`` is a template, never a path; ``status`` is 0 where there was no answer."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, f"{status // 100}xx" if status else "none").inc()
        self._request_seconds.labels(known, route).observe(seconds)
