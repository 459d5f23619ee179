"""Why an option is where it is, and what to look out for with it."""

from __future__ import annotations

from collections.abc import Mapping

from cardmatch.engine.advice.answer import RecommendedOption
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.describe import without_bf16
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Constraints, Objective
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.money.country import Country
from cardmatch.engine.money.offer import PriceKind
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_MADE_WHILE_LOADING = {"fp8", "nf4", "bf16", "fp16", "fp32"}
_CROWDED = 0.5
"""A cache of more than half of what an engine may fill grows past the weights at the next wave of requests."""


def reasons(option: RecommendedOption, choice: Choice, objective: Objective, considered: int) -> tuple[Notice, ...]:
    """What speaks for *option*."""
    info, found = Severity.INFO, []
    if option.rank == 1:
        found.append(notice(NoticeCode.BEST_OF_ALL, info, objective=objective.value, count=considered))
    if option.verdict is not Verdict.TIGHT:
        found.append(
            notice(NoticeCode.ROOM_TO_SPARE, info, verdict=option.verdict.value, headroom_bytes=option.headroom_bytes)
        )
    size = choice.tried.size
    if size is not None and size.copies > 1:
        found.append(
            notice(NoticeCode.COPIES_CARRY_LOAD, info, replicas=size.copies, requests=max(1, round(size.batch)))
        )
    return tuple(found)


def cautions(
    option: RecommendedOption,
    choice: Choice,
    asked: Constraints,
    presets: Presets,
    countries: Mapping[str, Country],
) -> tuple[Notice, ...]:
    """What speaks against *option*, or must be known before it is taken."""
    found = [
        *_format(choice, presets),
        *_pressure(option),
        *_price(option, stated=choice.lot.interruptions is not None),
        *_spread(choice, presets),
    ]
    if option.per_gpu is not None and without_bf16(choice.tried.form.card):
        found.append(notice(NoticeCode.NO_BF16, Severity.CAUTION, card=option.card))
    if option.speed is None:
        found.append(notice(NoticeCode.SPEED_NOT_PREDICTED, Severity.CAUTION, card=option.card))
    if option.verdict is Verdict.TIGHT and choice.tried.spill is None:
        found.insert(0, notice(NoticeCode.TIGHT_AT_LOAD, Severity.CAUTION, headroom_bytes=option.headroom_bytes))
    found += _link(option, choice)
    found += _watched(option, asked, countries)
    if option.cost is not None:
        seen = {each.code for each in found}
        found += [each for each in option.cost.notices if each.code not in seen]
    return tuple(found)


def _format(choice: Choice, presets: Presets) -> list[Notice]:
    weights = choice.tried.form.weights
    if weights == "as_published":
        return []
    known, needed = presets.accuracy.get(weights), []
    if weights not in _MADE_WHILE_LOADING:
        needed = [notice(NoticeCode.QUANTISED_CHECKPOINT_NEEDED, Severity.INFO, format=weights)]
    if known is None:
        return [*needed, notice(NoticeCode.ACCURACY_NOT_MEASURED, Severity.CAUTION, format=weights)]
    return [
        *needed,
        notice(
            NoticeCode.QUANTISATION_COSTS_ACCURACY,
            Severity.CAUTION,
            format=weights,
            low_percent=known.low_percent,
            high_percent=known.high_percent,
            source=known.source,
        ),
    ]


def _pressure(option: RecommendedOption) -> list[Notice]:
    memory = option.per_gpu
    if memory is None or memory.kv_cache_bytes <= _CROWDED * option.budget_bytes:
        return []
    share = 100 * memory.kv_cache_bytes / option.budget_bytes
    return [notice(NoticeCode.KV_PRESSURE, Severity.CAUTION, kv_cache_bytes=memory.kv_cache_bytes, share_percent=share)]


def _spread(choice: Choice, presets: Presets) -> list[Notice]:
    """4: weights in RAM; and machines that talk over a network nobody has described."""
    found, form = [], choice.tried.form
    if choice.tried.spill is not None:
        found.append(choice.tried.spill.notice)
    if form.nodes > 1:
        speed = presets.network.gb_s
        found.append(notice(NoticeCode.NETWORK_ASSUMED, Severity.CAUTION, machines=form.nodes, network_gb_s=speed))
    return found


def _link(option: RecommendedOption, choice: Choice) -> list[Notice]:
    """What the GPUs of one machine send each other over PCIe: results of tensor parallelism, or gradients."""
    form = choice.tried.form
    count = form.gpus // form.nodes
    if count == 1 or option.link not in {None, Link.PCIE}:
        return []
    if option.layout.tensor > 1:
        return [notice(NoticeCode.NO_FAST_LINK, Severity.CAUTION, card=option.card, count=count)]
    if option.training_per_gpu is not None:
        return [notice(NoticeCode.GRADIENTS_OVER_PCIE, Severity.CAUTION, card=option.card, count=count)]
    return []


def _price(option: RecommendedOption, *, stated: bool) -> list[Notice]:
    """Said here where there is no bill to say it."""
    found = []
    if option.offer.spot and not stated:
        found.append(notice(NoticeCode.SPOT_MAY_STOP, Severity.CAUTION))
    if option.offer.price_kind in {PriceKind.MARKET_LOW, PriceKind.FLOOR}:
        found.append(notice(NoticeCode.PRICE_MAY_NOT_BE_AVAILABLE, Severity.CAUTION))
    if option.cost is None and option.unused_gpus:
        gpus = option.machines * option.offer.gpu_count
        found.append(notice(NoticeCode.UNUSED_GPUS, Severity.INFO, unused=option.unused_gpus, gpus=gpus))
    return found


def _watched(option: RecommendedOption, asked: Constraints, countries: Mapping[str, Country]) -> list[Notice]:
    """29: whose law reaches the data, where the request shows that places matter; Nine Eyes said of a server."""
    private = asked.identity_check or asked.server_countries or asked.exclude_server_countries
    private = private or asked.company_countries or asked.exclude_company_countries
    if not private:
        return []
    found, offer = [], option.offer
    country = countries.get(offer.server_country or "")
    if country is not None and country.nine_eyes:
        found.append(notice(NoticeCode.SERVER_IN_NINE_EYES, Severity.CAUTION, country=country.code))
    if offer.server_country is not None and offer.company_country is not None:
        laws = {"country": offer.server_country, "company_country": offer.company_country}
        found.append(notice(NoticeCode.WHO_CAN_COMPEL, Severity.INFO, **laws))
    elif offer.company_country is None or offer.server_country is None:
        missing = "company_country" if offer.company_country is None else "server_country"
        found.append(notice(NoticeCode.PLACE_NOT_PUBLISHED, Severity.CAUTION, field=missing))
    return found
