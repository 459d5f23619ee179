"""OpenTelemetry spans: one a request, with templates in place of paths, and nothing that a client would not show."""

from __future__ import annotations

import asyncio

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from cardmatch.http.tracing import Traced
from tests.http.asking import ask, post
from tests.http.sample import door


def _traced() -> tuple[Traced, InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Traced(door(), provider), exporter


def test_each_request_is_a_span() -> None:
    """Named by method and template, with the status; answers are the same as without."""
    app, exporter = _traced()
    assert post(app, {"model": "a"}).body == post(door(), {"model": "a"}).body
    ask(app, "GET", "/things/l4")
    ask(app, "GET", "/secret/path")
    post(app, {"model": "a", "fail": "crash"})
    spans = exporter.get_finished_spans()
    names = ["POST /ask", "GET /things/{thing_id}", "GET unmatched", "POST /ask"]
    assert [span.name for span in spans] == names
    told = [dict(span.attributes or {})["http.response.status_code"] for span in spans]
    assert told == [200, 200, 404, 500]
    assert [span.status.status_code is StatusCode.ERROR for span in spans] == [False, False, False, True]
    assert "secret" not in str([span.to_json() for span in spans])


def test_a_span_joins_the_trace_of_its_caller() -> None:
    """`traceparent` (W3C Trace Context) names the trace and the span above."""
    app, exporter = _traced()
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    post(app, {"model": "a"}, {"traceparent": f"00-{trace}-{parent}-01"})
    post(app, {"model": "a"}, {"traceparent": "rubbish"})
    joined, alone = exporter.get_finished_spans()
    assert joined.parent is not None
    assert (f"{joined.parent.trace_id:032x}", f"{joined.parent.span_id:016x}") == (trace, parent)
    assert alone.parent is None


def test_what_is_left_goes_out_at_the_end() -> None:
    """When the lifespan ends the provider is shut down, which flushes."""
    app, exporter = _traced()

    async def live() -> None:
        messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive() -> dict[str, str]:
            return next(messages)

        async def send(_: object) -> None:
            return

        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)

    asyncio.run(live())
    post(app, {"model": "a"})
    assert exporter.get_finished_spans() == ()
