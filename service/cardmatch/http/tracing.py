"""OpenTelemetry spans, one a request, where a setting asks for them: it costs more than the rest of the door.

Where they go, how many are kept and what they are called is set by the variables of OpenTelemetry itself. A span holds
no body, no header and no path that is not a template.
"""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from cardmatch import __version__
from cardmatch.http.asgi import App, Message, Receive, Scope, Send, header
from cardmatch.http.door import Door
from cardmatch.http.meter import known_method

_context = TraceContextTextMapPropagator()


def traced(door: Door) -> App:
    """*door* with a span around each request, sent in batches by a thread of its own."""
    provider = TracerProvider(resource=Resource.create({"service.name": "cardmatch", "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traced(door, provider)


class Traced:
    """The application that *provider* hears of."""

    def __init__(self, door: Door, provider: TracerProvider) -> None:
        self._door = door
        self._provider = provider
        self._tracer = provider.get_tracer("cardmatch", __version__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event; what is left of the spans goes out when the last one is over."""
        if scope["type"] != "http":
            await self._door(scope, receive, send)
            if scope["type"] == "lifespan":
                self._provider.shutdown()
            return
        carrier = {name: header(scope, name.encode()) for name in ("traceparent", "tracestate")}
        span = self._tracer.start_span("request", _context.extract(carrier), trace.SpanKind.SERVER)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                span.set_attribute("http.response.status_code", status)
                if status >= 500:
                    span.set_status(trace.StatusCode.ERROR)
            await send(message)

        try:
            await self._door(scope, receive, sending)
        finally:
            method, route = known_method(scope["method"]), self._door.route(scope)
            span.update_name(f"{method} {route}")
            span.set_attributes({"http.request.method": method, "http.route": route})
            span.end()
