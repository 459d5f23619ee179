"""GET /metrics: what was counted, and that each figure is documented."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from cardmatch.catalogue.world import bundled
from cardmatch.http.door import Door
from cardmatch.http.exposition import figures
from cardmatch.http.meter import BOUNDS_SECONDS, Meter
from cardmatch.http.router import Surroundings, build
from cardmatch.http.standing import Standing
from cardmatch.settings import Settings
from tests.http.asking import ask, post
from tests.http.sample import ASK, SHOW, Snapshot, door


def _families(app: Door) -> dict[str, Metric]:
    text = ask(app, "GET", "/metrics").body.decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def _values(app: Door, name: str) -> dict[tuple[str, ...], float]:
    """The samples called *name*, by the values of their labels in the order of the labels' names."""
    samples = [sample for family in _families(app).values() for sample in family.samples]
    return {tuple(value for _, value in sorted(it.labels.items())): it.value for it in samples if it.name == name}


def test_requests_are_counted_by_route_method_and_status() -> None:
    """Whatever way they take to their answer, and never by what the client made up."""
    app = door()
    for body in ({"model": "a"}, {"model": "b"}, {"model": 1}, {"model": "a", "fail": "crash"}):
        post(app, body)
    post(app, {"model": "a"}, path="/ask/")
    ask(app, "GET", "/things/l4")
    ask(app, "GET", "/things/l4")
    ask(app, "HEAD", "/things/l4")
    ask(app, "GET", "/nothing/here")
    ask(app, "PROPFIND", "/ask")
    ask(app, "GET", "/docs/problems/internal")
    ask(app, "POST", "/ask", chunks=[b"{", None], headers={"content-type": "application/json"})
    found = _values(app, "cardmatch_requests_total")
    assert found["POST", "/ask", "200"] == 3
    assert found["POST", "/ask", "422"] == found["POST", "/ask", "500"] == found["POST", "/ask", "499"] == 1
    assert found["GET", "/things/{thing_id}", "200"] == 2
    assert found["HEAD", "/things/{thing_id}", "200"] == 1
    assert found["GET", "unmatched", "404"] == 1
    assert {count for (method, _, status), count in found.items() if (method, status) == ("other", "405")} == {1}
    assert sum(found.values()) == 12
    assert not {route for _, route, _ in found if "here" in route or "l4" in route}


def test_buckets_hold_what_took_at_most_so_long() -> None:
    """A duration on a bound belongs to its bucket, and the last bucket has them all."""
    meter = Meter()
    for seconds in (0.0, 0.001, 0.0011, 99.0):
        meter.served("/x", "GET", 200, seconds)
    app = build((ASK, SHOW), Snapshot, Settings(), Surroundings(meter=meter))
    buckets = {float(key[0]): value for key, value in _values(app, "cardmatch_request_seconds_bucket").items()}
    assert set(buckets) == {*BOUNDS_SECONDS, float("inf")}
    assert (buckets[0.00025], buckets[0.001], buckets[0.0025], buckets[30.0], buckets[float("inf")]) == (1, 2, 3, 3, 4)
    assert _values(app, "cardmatch_request_seconds_sum")["/x",] == pytest.approx(99.0021)
    assert _values(app, "cardmatch_request_seconds_count")["/x",] == 4


def test_answers_are_timed_apart_from_http() -> None:
    """Only what was answered counts, by the operation's name."""
    app = door()
    post(app, {"model": "a"})
    post(app, {"model": 1})
    ask(app, "GET", "/things/l4")
    assert _values(app, "cardmatch_answer_seconds_count") == {("ask",): 1, ("showThing",): 1}


def test_refusals_are_counted_by_kind_and_by_code() -> None:
    """The door's own, the router's and the operations' alike."""
    app = door()
    post(app, {"model": 1})
    post(app, {"model": "a", "batch": 0})
    post(app, "{")
    ask(app, "GET", "/nothing")
    ask(app, "DELETE", "/ask")
    post(app, {"model": "a", "fail": "crash"})
    assert _values(app, "cardmatch_problems_total") == {
        ("invalid_request",): 2,
        ("not_json",): 1,
        ("not_found",): 1,
        ("method_not_allowed",): 1,
        ("internal",): 1,
    }
    assert _values(app, "cardmatch_faults_total") == {("wrong_type",): 1, ("too_small",): 1}


def test_the_limit_and_the_flight_are_told() -> None:
    """The page itself is the one request in flight."""
    meter = Meter()
    meter.limited.update({"admitted": 3, "refused": 2})
    app = build((ASK, SHOW), Snapshot, Settings(), Surroundings(meter=meter))
    assert _values(app, "cardmatch_rate_limit_total") == {("admitted",): 3, ("refused",): 2}
    assert _values(app, "cardmatch_requests_in_flight") == {(): 1}
    assert meter.in_flight == 0


def test_the_catalogue_tells_its_version_and_age() -> None:
    """What answers, how old its newest fact is, and how things stand with Redis."""
    app = build((ASK, SHOW), Snapshot, Settings(), Surroundings(told=figures(Meter(), [Standing(bundled)])))
    assert _values(app, "cardmatch_catalogue_version") == {(bundled().version[:16],): 1}
    assert _values(app, "cardmatch_catalogue_offers") == {(): len(bundled().offers)}
    assert 0 < _values(app, "cardmatch_catalogue_age_seconds")[()] < 10 * 365 * 86400
    states = _values(app, "cardmatch_redis_state")
    assert states["off",] == sum(states.values()) == 1


def test_the_page_can_be_taken_away() -> None:
    """Where the setting says so it is not there."""
    assert ask(door(Settings(metrics=False)), "GET", "/metrics").status == 404


def test_openmetrics_is_given_where_it_is_asked_for() -> None:
    """Prometheus asks for it by itself."""
    response = ask(door(), "GET", "/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.body.endswith(b"# EOF\n")


def test_every_metric_is_documented_with_its_labels_and_nothing_else(root: Path) -> None:
    """The table of docs/metrics.md has each family of ours, by the name of its samples."""
    rows = re.findall(r"(?m)^\| `(cardmatch_\w+)` \|(.*?)\| .+ \|$", (root / "docs/metrics.md").read_text())
    documented = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    told = documented.pop("cardmatch_catalogue_published_timestamp_seconds")
    assert told == set()  # there only once Redis holds a snapshot
    meter = Meter()
    meter.limited = Counter(admitted=1)
    app = build((ASK, SHOW), Snapshot, Settings(), Surroundings(meter=meter, told=figures(meter, [Standing(bundled)])))
    post(app, {"model": 1})
    post(app, {"model": "a"})
    found: dict[str, set[str]] = {}
    for name, family in _families(app).items():
        if name.startswith("cardmatch_"):
            shown = f"{name}_total" if family.type == "counter" else name
            found[shown] = set().union(*(sample.labels for sample in family.samples)) - {"le"}
    assert found == documented
