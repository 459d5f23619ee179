"""The search: single changes first, pairs of those that are not enough alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cardmatch.engine.memory.answer import WayToFit
from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN
from cardmatch.engine.memory.ways import levers, spill
from cardmatch.engine.memory.ways.trial import Request, Trial, Tried, acceptable, excess_bytes

_MOST_TIMES_CARDS = 8
_MOST_TRIES, _MOST_LAST_TRIES = 2, 6
"""Of one lever: what it yields first is already chosen to be enough. The last resort may look further."""


def ways_to_fit(request: Request, base: Tried, index: int) -> tuple[WayToFit, ...]:
    """The smallest sets of changes that turn *base* into fits or comfortable, one per lever or pair of levers.

    A pair is only looked for where neither of its levers is enough. For engines that spill by themselves, the spill
    comes first, as tight as it is.
    """
    missing = excess_bytes(base)
    found: list[WayToFit] = []
    if isinstance(base.trial.engine, LLAMA_CPP_KIN):
        found += _first(request, spill.experts_in_ram(base), 5) or _first(request, spill.layers_in_ram(base), 5)
    weights = _first(request, levers.lighter_weights(request, base, missing))
    cache = _first(request, levers.lighter_cache(base, missing))
    engine = _first(request, levers.leaner_engine(base, missing))
    fewer = _first(request, levers.fewer_requests(base))
    shorter = _first(request, levers.shorter_requests(base))
    found += [*weights, *cache, *engine, *fewer, *shorter]
    if not weights and not cache:
        both = _first(request, _pairs(request, base, missing), 3)
        found += both
        if not both and not fewer and not shorter:
            found += _first(request, _formats_and_length(request, base), 3)
    found += _on_more_cards(request, base, index, lighter=not weights)
    found += _first(request, levers.other_cards(request, base, index))
    found = found or _first(request, _everything(request, base, index), _MOST_LAST_TRIES)
    return tuple(found or _first(request, levers.larger_machines(request, base, index), _MOST_LAST_TRIES))


def _on_more_cards(request: Request, base: Tried, index: int, *, lighter: bool) -> list[WayToFit]:
    """More of the same card; in fewer bits too where that takes fewer of them."""
    plain = _first(request, levers.more_cards(base, index))
    if not lighter:
        return plain
    fewer = _first(request, _lighter_on_more_cards(request, base, index))
    if plain and fewer and _cards_of(fewer[0]) >= _cards_of(plain[0]):
        return plain
    return fewer + plain


def _cards_of(way: WayToFit) -> int:
    return next(int(change.value or 0) for change in way.changes if change.pointer.endswith("/count"))


def _first(request: Request, trials: Iterable[Trial], most: int = _MOST_TRIES) -> list[WayToFit]:
    """The first trial that makes the job run, of at most *most* that the service would answer."""
    for number, trial in enumerate(filter(acceptable, trials)):
        if number == most:
            break
        tried = request.tried(trial)
        if tried.good:
            return [tried.way]
    return []


def _pairs(request: Request, base: Tried, missing: int) -> Iterator[Trial]:
    """Lighter weights, and a lighter cache beside them, where both together can save enough."""
    for lighter in levers.lighter_cache(base, 0):
        saved = base.placed.per_gpu.kv_cache_bytes // 2
        with_cache = Tried(trial=lighter, where=base.where, reservation=base.reservation, placed=base.placed)
        yield from levers.lighter_weights(request, with_cache, missing - saved)


def _lighter_on_more_cards(request: Request, base: Tried, index: int) -> Iterator[Trial]:
    """The lightest weights, spread over the fewest cards that hold them."""
    for trial in list(levers.lighter_weights(request, base, 0))[-1:]:
        if levers.holds_weights(base, trial, _MOST_TIMES_CARDS):
            yield from levers.more_cards(request.tried(trial), index)


def _everything(request: Request, base: Tried, index: int) -> Iterator[Trial]:
    """Where no pair is enough: the lightest formats with as many requests as fit, here or on more or larger cards."""
    lightest = levers.lightest(request, base)
    larger = (*levers.all_more_cards(lightest, index), *levers.all_other_cards(request, lightest, index))
    for trial in (lightest.trial, *larger):
        if levers.holds_weights(lightest, trial):
            yield from levers.fewer_requests(request.tried(trial))


def _formats_and_length(request: Request, base: Tried) -> Iterator[Trial]:
    """The lightest weights and cache, and requests as many, or as long, as then fit."""
    lightest = levers.lightest(request, base)
    if levers.holds_weights(lightest, lightest.trial):
        tried = request.tried(lightest.trial)
        yield from levers.fewer_requests(tried)
        yield from levers.shorter_requests(tried)
