"""Whether requests are traced, and where the traces go: what OpenTelemetry's own variables say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import structlog

from engram import __version__

if TYPE_CHECKING:
    from engram.telemetry.tracing import Tracing

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""One of these says where traces go. Without it nothing is traced, and nothing of OpenTelemetry is loaded."""

log = structlog.get_logger(__name__)


def open_tracing() -> Tracing | None:
    """Tracing as the environment asks for it; None where it does not, or where ``engram[otel]`` is not installed."""
    if not any(os.environ.get(name, "").strip() for name in ENDPOINTS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        from engram.telemetry.tracing import Tracing  # noqa: PLC0415
    except ImportError as error:
        log.warning("nothing is traced: install engram[otel]", missing=error.name)
        return None
    name = OTELResourceDetector().detect().attributes.get("service.name", "engram")
    resource = Resource.create({"service.name": name, "service.version": __version__})
    # Ours alone, not the process's: whoever runs the app inside another keeps that one's traces. Closed by us.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
