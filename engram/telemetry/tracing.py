"""Requests and their stages as OpenTelemetry spans. Imports the SDK: only loaded where traces are wanted.

A span says how long something took, and whether it failed with an error of which class. It never holds a message of
an error, which may repeat what users stored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode, format_span_id, format_trace_id, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from engram import __version__
from engram.telemetry.names import StageName

# W3C traceparent and tracestate. Not baggage, which holds whatever clients put there.
_PROPAGATOR = TraceContextTextMapPropagator()


CLOSE_SECONDS = 2.0


class Tracing:
    """Makes spans; whoever opened it closes it. ``provider`` says what becomes of them."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("engram", __version__)

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str], request_id: str) -> Iterator[RequestSpan]:
        """A span of the server, below the one that the client's ``traceparent`` names."""
        with self._tracer.start_as_current_span(
            method,
            context=_PROPAGATOR.extract(headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "engram.request_id": request_id},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield RequestSpan(span, method)

    @contextmanager
    def stage(self, name: StageName) -> Iterator[None]:
        """A span below that of a request; none where no request is traced."""
        if not get_current_span().get_span_context().is_valid:
            yield
            return
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
            try:
                yield
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    def close(self) -> None:
        """Send what was not sent yet, for ``CLOSE_SECONDS`` at most. Blocks while it does."""
        # The SDK goes on trying a collector that is away; nobody who stops a server waits for that.
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(CLOSE_SECONDS)


class RequestSpan:
    def __init__(self, span: Span, method: str) -> None:
        self._span = span
        self._method = method

    @property
    def ids(self) -> dict[str, str]:
        """For the lines in the log that belong to the request."""
        context = self._span.get_span_context()
        return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}

    def answered(self, route: str, status: int) -> None:
        """``route`` is a template, never a path."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)
