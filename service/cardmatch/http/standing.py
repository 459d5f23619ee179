"""How things stand with the catalogue and with Redis, for /metrics."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from cardmatch.catalogue.shared.state import RedisState, Tally
from cardmatch.catalogue.world import World


class Standing:
    """Tells of the snapshot that *world* returns, and what following it took."""

    def __init__(self, world: Callable[[], World], tally: Tally | None = None) -> None:
        """Without a *tally* nothing is followed."""
        self._world = world
        self._tally = tally or Tally()

    def collect(self) -> Iterator[Metric]:
        """The figures as they are now."""
        world = self._world()
        version = GaugeMetricFamily("cardmatch_catalogue_version", "Always 1.", labels=["version"])
        version.add_metric([world.version[:16]], 1)
        yield version
        day = dt.date.fromisoformat(str(world.as_of))
        midnight = dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)
        age = (dt.datetime.now(dt.UTC) - midnight).total_seconds()
        yield _gauge("cardmatch_catalogue_age_seconds", "Time since the day of the newest fact.", age)
        if world.shared.published_at is not None:
            published = world.shared.published_at.timestamp()
            yield _gauge("cardmatch_catalogue_published_timestamp_seconds", "When it was published.", published)
        yield _gauge("cardmatch_catalogue_offers", "Offers in the catalogue.", len(world.offers))
        yield from self._redis(world.shared.redis)

    def _redis(self, current: RedisState) -> Iterator[Metric]:
        states = GaugeMetricFamily("cardmatch_redis_state", "1 for the state that Redis is in.", labels=["state"])
        for state in RedisState:
            states.add_metric([state], float(state is current))
        yield states
        tally = self._tally
        yield CounterMetricFamily("cardmatch_catalogue_changes", "Snapshots taken over.", value=tally.swaps)
        yield CounterMetricFamily("cardmatch_redis_polls", "Looks for another snapshot.", value=tally.polls)
        yield CounterMetricFamily("cardmatch_redis_failed_polls", "Those that failed.", value=tally.failed_polls)
        yield CounterMetricFamily("cardmatch_redis_outages", "Times that Redis was lost.", value=tally.outages)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=value)
