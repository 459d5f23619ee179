"""What would let an offer in that a condition keeps out, or of which too little is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cardmatch.engine.advice.market import Rejected
from cardmatch.engine.advice.question import Constraints
from cardmatch.engine.money.country import Country, select
from cardmatch.engine.money.offer import Offer
from cardmatch.engine.money.provider import Provider

_MOST = 3
_TAKEN_OUT: dict[str, Any] = {
    "identity_check": None,
    "billing": None,
    "payment_methods": (),
    "unmetered_bandwidth": False,
    "max_price_age_days": None,
    "isolation": None,
    "server_countries": (),
    "company_countries": (),
}


def openings(
    asked: Constraints,
    rejected: tuple[Rejected, ...],
    providers: Mapping[str, Provider],
    countries: Mapping[str, Country],
) -> Iterator[dict[str, Any]]:
    """Fields of *asked* to set so that one of the *rejected* offers is let in, fewest first."""
    seen: set[tuple[str, ...]] = set()
    priced = [each for each in rejected if each.offer.usd_per_hour is not None]
    for each in sorted(priced, key=lambda each: (len(each.failed) + len(each.unknown), each.offer.id)):
        fields = (*each.failed, *[name for name in each.unknown if name not in {"card", "usd_per_hour"}])
        if not fields or fields in seen:
            continue
        seen.add(fields)
        provider = providers.get(each.offer.provider)
        yield {name: _opened(asked, name, each.offer, provider, countries) for name in fields}
        if len(seen) == _MOST:
            return


def _opened(
    asked: Constraints, field: str, offer: Offer, provider: Provider | None, countries: Mapping[str, Country]
) -> Any:
    """The value of *field* that *offer* meets: what was asked with its own fact beside it, else none."""
    given = getattr(asked, field)
    company = provider.company_country if provider else None
    facts = {"providers": offer.provider, "server_countries": offer.server_country, "company_countries": company}
    known = facts.get(field.removeprefix("exclude_"))
    if field.startswith("exclude_"):
        return _without(given, known, countries, named=field == "exclude_providers")
    if field == "payment_methods" and provider and provider.payment_methods:
        return (*given, provider.payment_methods[0])
    if field in facts and known is not None:
        return (*given, known)
    return _TAKEN_OUT.get(field)


def _without(
    given: tuple[str, ...], known: str | None, countries: Mapping[str, Country], *, named: bool
) -> tuple[str, ...]:
    """What is excluded but for what takes in the offer's own place; nothing, where that is not known."""
    if known is None:
        return ()
    if named:
        return tuple([each for each in given if each != known])
    return tuple([each for each in given if known not in select(countries, (each,))])
