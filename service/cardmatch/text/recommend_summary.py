"""The two or three sentences that open a recommendation: what is best, how fast it is, what comes next."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from cardmatch.engine.advice.answer import Recommended, RecommendedOption
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.offer import PriceKind
from cardmatch.engine.money.work import Job
from cardmatch.engine.speed.throughput import WorkUnit
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.text.cost_summary import each_in_words
from cardmatch.text.language import Language
from cardmatch.text.sentences import join_sentences, say
from cardmatch.text.units import Value

_COUNTED = frozenset({WorkUnit.IMAGE, WorkUnit.ITEM})
_HOUR, _WHOLE = 3600, 100
_PRICE_OR_CARD = frozenset({"usd_per_hour", "card"})
_MOST_SOURCES = 3


def recommend_summary(figures: Recommended, cards: Mapping[str, str], language: Language, on: dt.date) -> str:
    """The summary of *figures*, priced *on* a day; *cards* gives the name of each catalogue id."""
    if not figures.options:
        return _none(figures, language)
    first = figures.options[0]
    said = [_first(first, cards, language), *_price(figures.options, cards, language, on)]
    if len(figures.options) > 1:
        said.append(_next(figures.options[1], cards, language))
    return join_sentences(said, language)


_MAY_NOT_BE_HAD = frozenset({PriceKind.FLOOR, PriceKind.MARKET_LOW})


def _price(
    options: tuple[RecommendedOption, ...], cards: Mapping[str, str], language: Language, on: dt.date
) -> list[str]:
    """Of a price that may not be had: its kind, its age, and the best option shown that has a list price."""
    offer = options[0].offer
    if offer.price_kind not in _MAY_NOT_BE_HAD:  # a spot price beside a price on request is to be had
        return []
    said = [
        say(
            "summaries",
            f"recommend_price_{offer.price_kind.value}",
            {"age_days": max((on - offer.as_of).days, 0)},
            language,
        )
    ]
    listed = next((option for option in options if option.offer.price_kind is PriceKind.LIST), None)
    if listed is None:
        return [*said, say("summaries", "recommend_none_listed", {}, language)]
    params: dict[str, Value] = {"card": cards[listed.card], "count": listed.count, "provider": listed.offer.provider}
    if _is_job(listed) and listed.cost is not None:
        return [*said, say("summaries", "recommend_listed_job", params | _job(listed.cost), language)]
    return [*said, say("summaries", "recommend_listed", params | {"usd_per_month": listed.usd_per_month}, language)]


def _next(option: RecommendedOption, cards: Mapping[str, str], language: Language) -> str:
    params: dict[str, Value] = {"card": cards[option.card], "count": option.count}
    if _is_job(option) and option.cost is not None:
        return say("summaries", "recommend_next_job", params | _job(option.cost), language)
    return say("summaries", "recommend_next", params | {"usd_per_month": option.usd_per_month}, language)


def _job(cost: OptionCost) -> dict[str, Value]:
    """How long a job takes, and what it costs."""
    hours = cost.hours.wall_hours if cost.hours is not None else 0.0
    return {"run_seconds": hours * _HOUR, "total_usd": cost.total.expected_usd}


def _is_job(option: RecommendedOption) -> bool:
    return option.cost_request is not None and isinstance(option.cost_request.work, Job)


def _first(option: RecommendedOption, cards: Mapping[str, str], language: Language) -> str:
    params: dict[str, Value] = {"card": cards[option.card], "count": option.count, "provider": option.offer.provider}
    question = option.cost_request
    if _is_job(option) and option.cost is not None:
        said = [say("summaries", "recommend_job", params | _job(option.cost), language)]
        return join_sentences([*said, *_units(option, language)], language)
    params |= {"usd_per_month": option.usd_per_month, "headroom_bytes": option.headroom_bytes}
    said = [say("summaries", "recommend_first", params, language)]
    said += _units(option, language)
    speed = option.speed
    if speed is not None and speed.request_seconds is not None and question is not None and len(said) == 1:
        output = question.work.output_tokens or 0
        rate: dict[str, Value] = {
            "rate_tokens_per_second": speed.expected_units_per_second * output,
            "request_seconds": speed.request_seconds,
        }
        said.append(say("summaries", "recommend_speed", rate, language))
    return join_sentences(said, language)


def _units(option: RecommendedOption, language: Language) -> list[str]:
    """Of pictures, texts and recordings: how many an hour, and what a thousand cost."""
    speed, bill, question = option.speed, option.cost, option.cost_request
    if speed is None or bill is None or question is None or question.work.unit not in _COUNTED:
        return []
    unit, hourly = question.work.unit.value, speed.capacity_units_per_second * _HOUR
    params: dict[str, Value] = {
        "units_per_hour": round(hourly) if hourly >= _WHOLE else hourly,
        "work_unit": unit,
        "each": each_in_words(bill, unit, language),
    }
    if _is_job(option):
        return [say("summaries", "recommend_units_job", params, language)]
    return [
        say("summaries", "recommend_units_load", params | {"request_seconds": speed.request_seconds or 0.0}, language)
    ]


def _unpriced(figures: Recommended, language: Language) -> list[str]:
    """Who meets every condition, as far as anybody says, and publishes no price; by whose word."""
    rows = [row for row in figures.unpriced_matches if set(row.unknown) <= _PRICE_OR_CARD]
    near = figures.nearest
    if not rows or near is None or near.reason.code is not NoticeCode.OFFERS_WITHOUT_PRICE:
        return []
    providers, sources = sorted({row.provider for row in rows}), sorted({row.source for row in rows})
    params: dict[str, Value] = {"count": len(rows), "providers": providers, "sources": sources[:_MOST_SOURCES]}
    return [say("summaries", "recommend_unpriced", params, language)]


def _none(figures: Recommended, language: Language) -> str:
    said = [say("summaries", "recommend_none", {}, language), *_unpriced(figures, language)]
    if figures.nearest is not None and len(said) == 1:
        said.append(say("notices", figures.nearest.reason.code, figures.nearest.reason.params, language))
    possible = len(figures.unpriced_matches) + len(figures.unknown_matches)
    if possible:
        said.append(say("summaries", "recommend_possible", {"count": possible}, language))
    return join_sentences(said, language)
