"""Requests as spans."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
import structlog
from fastapi import FastAPI
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from engram import AsyncEngram
from engram.agents.schemas import Agent
from engram.db.database import driver
from engram.server.app import create_app, lifespan
from engram.services import Services
from engram.settings import Settings
from engram.telemetry.opening import open_tracing
from engram.telemetry.tracing import Tracing
from engram.telemetry.watching import Telemetry

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
async def app(services: Services, spans: InMemorySpanExporter) -> AsyncIterator[FastAPI]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracing = Tracing(provider)
    yield create_app(services=services, telemetry=Telemetry(tracing=tracing))
    tracing.close()


def of_request(spans: InMemorySpanExporter) -> tuple[ReadableSpan, list[ReadableSpan]]:
    """The last request's span, and the others of its trace in the order of their start."""
    finished = spans.get_finished_spans()
    request = finished[-1]
    below = [span for span in finished[:-1] if span.context.trace_id == request.context.trace_id]
    return request, sorted(below, key=lambda span: span.start_time)


async def test_a_recall_is_a_span_with_its_stages_below(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, spans: InMemorySpanExporter
) -> None:
    await engram.memories.create(agent.id, "Alice moved to Lisbon.", entities=["Alice"])
    response = await http.post("/v1/memories/recall", json={"agent_id": agent.id, "query": "Alice?"})
    request, below = of_request(spans)
    assert (request.name, request.kind, request.parent) == ("POST /v1/memories/recall", SpanKind.SERVER, None)
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/memories/recall",
        "http.response.status_code": 200,
        "engram.request_id": response.headers["x-request-id"],
    }
    assert [span.name for span in below if span.name.startswith("recall.")] == [
        *("recall.embed", "recall.agent", "recall.arms", "recall.walk", "recall.rank", "recall.show")
    ]
    assert all(span.parent.span_id == request.context.span_id for span in below)
    assert all(request.start_time <= span.start_time <= span.end_time <= request.end_time for span in below)


async def test_a_request_goes_on_the_trace_that_it_names(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    await http.get("/v1/agents", headers={"traceparent": f"00-{TRACE}-{PARENT}-01", "baggage": "secret=1"})
    request, _ = of_request(spans)
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == PARENT


async def test_what_its_sender_does_not_sample_is_not_traced(
    http: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    await http.get("/v1/agents", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
    assert spans.get_finished_spans() == ()


@pytest.mark.parametrize("traceparent", ["", "nonsense", f"00-{'0' * 32}-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01"])
async def test_a_header_that_names_no_trace_begins_one(
    http: httpx.AsyncClient, spans: InMemorySpanExporter, traceparent: str
) -> None:
    assert (await http.get("/v1/agents", headers={"traceparent": traceparent})).status_code == 200
    request, _ = of_request(spans)
    assert request.parent is None
    assert f"{request.context.trace_id:032x}" != TRACE


async def test_probes_and_scrapes_are_not_traced(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    for path in ("/health/live", "/health/ready", "/metrics"):
        assert (await http.get(path)).status_code == 200
    assert spans.get_finished_spans() == ()


async def test_a_span_holds_nothing_that_was_stored_or_asked(
    http: httpx.AsyncClient, engram: AsyncEngram, agent: Agent, services: Services, spans: InMemorySpanExporter
) -> None:
    await engram.memories.create(agent.id, "zirconium", user_id="zirconium", entities=["Zirconium"])
    await engram.memories.recall(agent.id, "zirconium?", user_id="zirconium")
    await http.get("/v1/memories", params={"agent_id": agent.id, "user_id": "zirconium"})
    await http.get("/zirconium")
    async with services.database.transaction() as connection:
        await driver(connection).execute("ALTER TABLE memories ADD CHECK (content <> 'zirconium again')")
    failed = await http.post("/v1/memories", json={"agent_id": agent.id, "content": "zirconium again"})
    assert failed.status_code == 500
    told = "".join(span.to_json() for span in spans.get_finished_spans()).lower()
    assert "zirconium" not in told
    assert agent.id not in told
    request, below = of_request(spans)
    assert request.status.status_code is StatusCode.ERROR
    (store,) = [span for span in below if span.name == "write.store"]
    assert store.status.status_code is StatusCode.ERROR
    assert (store.attributes["error.type"], store.status.description, store.events) == (
        "CheckViolationError",
        None,
        (),
    )


async def test_lines_in_the_log_name_the_trace(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        await http.get("/v1/agents")
    (line,) = [line for line in logs if line["event"] == "request"]
    request, _ = of_request(spans)
    assert line["trace_id"] == f"{request.context.trace_id:032x}"


class TestSwitchingOn:
    @pytest.fixture
    def collector(self) -> Iterator[tuple[str, list[bytes]]]:
        """The URL of an OTLP collector, and what it was sent."""
        bodies: list[bytes] = []

        class Handler(BaseHTTPRequestHandler):
            timeout = 30  # for a client that connects and says nothing

            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join(30)
        server.server_close()

    async def test_an_app_sends_its_traces_where_the_environment_says_and_the_last_before_it_ends(
        self,
        settings: Settings,
        static_weights: None,
        collector: tuple[str, list[bytes]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        url, bodies = collector
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        app = create_app(settings)
        async with lifespan(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                await http.get("/v1/agents")
        sent = b"".join(bodies)
        assert b"GET /v1/agents" in sent
        assert b"engram" in sent

    @pytest.mark.parametrize("given", [None, "", " "])
    def test_without_an_endpoint_nothing_is_traced(self, given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        if given is not None:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", given)
        assert open_tracing() is None

    def test_without_the_extra_nothing_is_traced_and_the_log_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1/traces")
        # What Python finds where a package is not installed.
        monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
        with structlog.testing.capture_logs() as logs:
            assert open_tracing() is None
        assert "engram[otel]" in logs[0]["event"]

    def test_where_it_is_off_the_sdk_is_not_loaded(self) -> None:
        program = (
            "import sys; from engram.server.app import create_app; create_app();"
            "from engram.telemetry.opening import open_tracing; open_tracing();"
            "assert not [name for name in sys.modules if name.startswith('opentelemetry.sdk')]"
        )
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


OF_A_PROCESS_THAT_TRACES = """
import asyncio, sys
import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from engram.server.app import create_app
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
async def ask():
    transport = httpx.ASGITransport(create_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        return [(await http.get(path)).status_code for path in ("/health/live", "/openapi.json", "/nowhere?secret=1")]
assert asyncio.run(ask()) == [200, 200, 404]
assert spans.get_finished_spans() == (), [span.to_json() for span in spans.get_finished_spans()]
"""


def test_the_framework_makes_no_spans_of_its_own_which_would_hold_the_query() -> None:
    subprocess.run([sys.executable, "-c", OF_A_PROCESS_THAT_TRACES], check=True, timeout=120)
