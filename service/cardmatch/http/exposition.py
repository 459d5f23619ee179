"""GET /metrics: what was counted in the words of Prometheus. docs/metrics.md describes each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from litestar import Request, Response, route
from litestar.handlers import HTTPRouteHandler
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from cardmatch import __version__, logs
from cardmatch.catalogue.names import models
from cardmatch.http.board import Collector
from cardmatch.http.meter import BOUNDS_SECONDS, Meter, Series
from cardmatch.text import language, summary, words

_CACHES = {
    "language": language.negotiated,
    "model": models.resolved,
    "assumption": words.sentence_of_assumption,
    "notice": words.sentence_of_notice,
    "verdict": summary.verdicts_sentence,
}


def figures(meter: Meter, others: Iterable[Collector] = ()) -> CollectorRegistry:
    """Those of *meter*, of the process, and of *others*."""
    registry = CollectorRegistry()
    for collector in (Counts(meter), *others):
        registry.register(collector)
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def metrics(told: Collector) -> HTTPRouteHandler:
    """The page of what is *told*: of this worker, or of all."""

    @route("/metrics", http_method=["GET", "HEAD"])
    async def page(request: Request[Any, Any, Any]) -> Response[bytes]:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(told), headers={"content-type": media_type, "cache-control": "no-store"})

    return page


class Counts:
    """What a Meter holds."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def collect(self) -> Iterator[Metric]:
        """Requests, answers, problems, the rate limit, caches and the release."""
        yield _info("cardmatch_release", "The release that runs.", {"release": __version__})
        yield from self._requests()
        yield _histogram(
            "cardmatch_answer_seconds", "Time for an answer without HTTP.", "operation", self._meter.answers
        )
        yield _counter("cardmatch_problems", "Requests refused, by kind of problem.", "type", self._meter.problems)
        yield _counter("cardmatch_faults", "Things wrong with refused requests, by code.", "code", self._meter.faults)
        yield _counter("cardmatch_rate_limit", "Decisions of the rate limit.", "outcome", self._meter.limited)
        yield from _caches()
        yield CounterMetricFamily("cardmatch_log_lines_lost", "Lines of log that nothing took.", value=logs.lost())

    def _requests(self) -> Iterator[Metric]:
        in_flight = GaugeMetricFamily("cardmatch_requests_in_flight", "Requests that are being served.")
        in_flight.add_metric([], self._meter.in_flight)
        yield in_flight
        counted = CounterMetricFamily(
            "cardmatch_requests", "Requests served; 499 is a client gone.", labels=["route", "method", "status"]
        )
        by_route: defaultdict[str, list[Series]] = defaultdict(list)
        for (path, method, status), series in list(self._meter.requests.items()):
            counted.add_metric([path, method, str(status)], sum(series.counts))
            by_route[path].append(series)
        yield counted
        sums = {path: _sum(series) for path, series in by_route.items()}
        yield _histogram("cardmatch_request_seconds", "Time from the headers to the last byte.", "route", sums)


def _sum(several: list[Series]) -> Series:
    total = Series()
    total.seconds = sum(series.seconds for series in several)
    total.counts = [sum(column) for column in zip(*(series.counts for series in several), strict=True)]
    return total


def _caches() -> Iterator[Metric]:
    hits, misses = Counter[str](), Counter[str]()
    for name, cached in _CACHES.items():
        told = cached.cache_info()
        hits[name], misses[name] = told.hits, told.misses
    yield _counter("cardmatch_cache_hits", "Lookups answered from memory.", "cache", hits)
    yield _counter("cardmatch_cache_misses", "Lookups that had to be worked out.", "cache", misses)


def _counter(name: str, about: str, label: str, counts: Counter[str]) -> Metric:
    family = CounterMetricFamily(name, about, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _histogram(name: str, about: str, label: str, rows: dict[str, Series]) -> Metric:
    family = HistogramMetricFamily(name, about, labels=[label])
    bounds = [*(str(float(bound)) for bound in BOUNDS_SECONDS), "+Inf"]
    for value, series in sorted(rows.items()):
        buckets = list(zip(bounds, map(float, accumulate(series.counts)), strict=True))
        family.add_metric([value], buckets=buckets, sum_value=series.seconds)
    return family


def _info(name: str, about: str, labels: dict[str, str]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=list(labels))
    family.add_metric(list(labels.values()), 1)
    return family
