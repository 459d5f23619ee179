"""The two or three sentences that open an answer about cost: what is cheapest, by how much, and by the hour."""

from __future__ import annotations

from cardmatch.engine.money.answer import CostFigures, OptionCost
from cardmatch.engine.money.work import Job, Work
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.text.language import Language
from cardmatch.text.sentences import join_sentences, say
from cardmatch.text.units import Value

_OF_TIME = frozenset({NoticeCode.CHEAPEST_TOO_LATE, NoticeCode.NONE_IN_TIME})
"""What must not be missed by those who read the summary alone."""


def cost_summary(work: Work, figures: CostFigures, language: Language) -> str:
    """The summary of a comparison on *work*."""
    named = {option.label: option for option in figures.options}
    first = named[figures.rank_by_cost[0]]
    said = [_cost(work, first, language)]
    if len(named) > 1:
        said.append(_distance(first, named[figures.rank_by_cost[1]], len(named), language))
    hourly = figures.rank_by_hourly_rate
    if hourly and hourly[0] != first.label:
        said.append(say("summaries", "cost_by_the_hour", {"hourly": hourly[0]}, language))
    said += [
        say("notices", notice.code, notice.params, language) for notice in figures.notices if notice.code in _OF_TIME
    ]
    return join_sentences(said, language)


def each_in_words(option: OptionCost, unit: str, language: Language) -> str:
    """What so much of the work costs: `$0.19 per million tokens`, `$4.20 per thousand images`."""
    if option.usd_per_million_tokens is not None:
        return say("phrases", "per_million_tokens", {"amount_usd": option.usd_per_million_tokens}, language)
    return say("phrases", "per_thousand", {"amount_usd": option.usd_per_thousand or 0.0, "unit": unit}, language)


def _cost(work: Work, option: OptionCost, language: Language) -> str:
    total = option.total
    params: dict[str, Value] = {
        "label": option.label,
        "units": int(option.units) if option.units.is_integer() else option.units,
        "unit": work.unit.value,
        "total_usd": total.expected_usd,
        "low_usd": total.low_usd,
        "high_usd": total.high_usd,
        "each": each_in_words(option, work.unit.value, language),
    }
    kind = "cost_job" if isinstance(work, Job) else "cost_service"
    # A range that would read as one figure is none.
    sure = round(total.low_usd, 2) == round(total.high_usd, 2)
    return say("summaries", f"{kind}_sure" if sure else kind, params, language)


def _distance(first: OptionCost, second: OptionCost, count: int, language: Language) -> str:
    cheaper = first.usd_per_unit
    if not cheaper:
        other: dict[str, Value] = {"count": count, "next": second.label, "amount_usd": second.total.expected_usd}
        return say("summaries", "cost_free", other, language)
    more = 100 * (second.usd_per_unit / cheaper - 1)
    return say("summaries", "cost_cheapest", {"count": count, "next": second.label, "more_percent": more}, language)
