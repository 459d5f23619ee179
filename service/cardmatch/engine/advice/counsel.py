"""What the buyers' guides would say of the answer as a whole; each notice names the figures that it rests on.

Numbers in comments are rows of the guides' table.
"""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.advice.answer import RecommendedOption
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.pace import Sent
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Wanted
from cardmatch.engine.hardware.card import Card, TransformerEngine
from cardmatch.engine.hardware.choice import Link
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_INFO = Severity.INFO
_WORTH_SAYING = 0.1
_A_DIME = 0.1
_LONG_RUN_HOURS = 4.0
_MOSTLY = 0.5
_ODDS_WORTH_SAYING = 0.001


class Ground(NamedTuple):
    """What counsel rests on: options with the choices behind them, and the best without a condition on cards."""

    options: tuple[RecommendedOption, ...]
    choices: tuple[Choice, ...]
    freely: Choice | None
    wanted: Wanted
    demand: Demand
    presets: Presets
    sent: Sent | None = None


def counsel(ground: Ground) -> tuple[Notice, ...]:
    """Every notice that applies, in the order of the guides' rows."""
    if not ground.options:
        return tuple(_privacy(ground))
    first, choice = ground.options[0], ground.choices[0]
    found = [*_overkill(ground), *_out_not_up(ground), *_link(first, choice, ground.sent), *_bandwidth(choice)]
    found += [*_fp8(choice.tried.form.card, first), *_ecc(ground), *_slices(first)]
    return (*found, *_both(ground), *_privacy(ground))


def _overkill(ground: Ground) -> list[Notice]:
    """17: only where a load was given, and another card meets it for less."""
    free, choice = ground.freely, ground.choices[0]
    if free is None or not ground.demand.stated or free.tried.form.card.id == choice.tried.form.card.id:
        return []
    if choice.total_usd is not None and free.total_usd is not None:
        return _dearer_job(choice, free, choice.total_usd - free.total_usd, choice.total_usd)
    saved = choice.usd_per_hour - free.usd_per_hour
    if saved < _WORTH_SAYING * choice.usd_per_hour:
        return []
    return [
        notice(
            NoticeCode.CARD_LARGER_THAN_NEEDED,
            Severity.CAUTION,
            card=choice.tried.form.card.id,
            cheaper_card=free.tried.form.card.id,
            saved_usd_per_month=saved * ground.presets.hours_per_month,
            saved_percent=100 * saved / choice.usd_per_hour,
        )
    ]


def _dearer_job(choice: Choice, free: Choice, saved: float, total: float) -> list[Notice]:
    if saved < max(_WORTH_SAYING * total, _A_DIME):
        return []
    return [
        notice(
            NoticeCode.CARD_DEARER_FOR_JOB,
            Severity.CAUTION,
            card=choice.tried.form.card.id,
            cheaper_card=free.tried.form.card.id,
            saved_usd=saved,
            saved_percent=100 * saved / total,
        )
    ]


def _out_not_up(ground: Ground) -> list[Notice]:
    """16: several small cards where a larger one would carry the load by itself for more."""
    first = ground.options[0]
    if first.copies == 1 or first.mig is not None:
        return []
    memory = ground.choices[0].tried.form.device.memory_bytes
    for option, choice in zip(ground.options[1:], ground.choices[1:], strict=True):
        larger = choice.tried.form.device.memory_bytes > memory and option.copies < first.copies
        if larger:
            return _saved_by_many(ground, first, option)
    return []


def _saved_by_many(ground: Ground, first: RecommendedOption, larger: RecommendedOption) -> list[Notice]:
    """By the finished job, or by the month."""
    said: dict[str, str | int] = {"replicas": first.copies, "card": first.card, "other": larger.card}
    if ground.demand.items is not None and first.cost is not None and larger.cost is not None:
        saved = larger.cost.total.expected_usd - first.cost.total.expected_usd
        return [notice(NoticeCode.SCALE_OUT_FOR_JOB, _INFO, **said, saved_usd=saved)] if saved > 0 else []
    saved = larger.usd_per_month - first.usd_per_month
    return [notice(NoticeCode.SCALE_OUT_FIRST, _INFO, **said, saved_usd_per_month=saved)] if saved > 0 else []


def _link(option: RecommendedOption, choice: Choice, sent: Sent | None) -> list[Notice]:
    """13: one GPU a copy sends nothing; several exchange activations in each step."""
    if choice.tried.form.gpus == 1:
        return [notice(NoticeCode.LINK_NOT_NEEDED, _INFO, card=option.card)]
    served = choice.tried.size.now if choice.tried.size else None
    if served is None or sent is None or not sent.step_bytes:
        return []
    if not sent.nvlink_seconds:
        return [
            notice(
                NoticeCode.LINK_ONLY_PCIE,
                Severity.CAUTION,
                step_bytes=round(sent.step_bytes),
                pcie_seconds=sent.pcie_seconds,
                step_seconds=served.tpot_seconds,
            )
        ]
    severity = Severity.CAUTION if option.link in {None, Link.PCIE} else _INFO
    return [
        notice(
            NoticeCode.LINK_MATTERS,
            severity,
            step_bytes=round(sent.step_bytes),
            pcie_seconds=sent.pcie_seconds,
            nvlink_seconds=sent.nvlink_seconds,
        )
    ]


def _bandwidth(choice: Choice) -> list[Notice]:
    """12: whether reading memory or arithmetic takes most of a step."""
    served = choice.tried.size.now if choice.tried.size else None
    if served is None or not served.memory_share:
        return []
    card = choice.tried.form.card
    if max(served.memory_share, served.compute_share) < _MOSTLY:
        return []
    reads = served.memory_share >= served.compute_share
    code = NoticeCode.BANDWIDTH_DECIDES if reads else NoticeCode.COMPUTE_DECIDES
    share = max(served.memory_share, served.compute_share)
    return [notice(code, _INFO, card=card.id, share_percent=100 * share, memory_gb_s=card.bandwidth_gb_s)]


def _fp8(card: Card, option: RecommendedOption) -> list[Notice]:
    """10, 11: what FP8 means on the card."""
    if card.dense.bf16_tflops is None:  # a caution of the option says it
        return []
    if card.dense.fp8_tflops is None:
        return [notice(NoticeCode.NO_FP8, _INFO, card=card.id)] if option.weights == "bf16" else []
    if option.weights != "fp8":
        return []
    managed = card.transformer_engine in {TransformerEngine.BLOCK, TransformerEngine.MICRO}
    return [notice(NoticeCode.FP8_SCALED if managed else NoticeCode.FP8_PLAIN, _INFO, card=card.id)]


def _ecc(ground: Ground) -> list[Notice]:
    """15: the odds of an interruption in a long run on several GPUs."""
    first = ground.options[0]
    hours = first.cost.hours.wall_hours if first.cost and first.cost.hours and ground.demand.items else 0.0
    if hours < _LONG_RUN_HOURS:
        return []
    failures = ground.presets.failures
    odds = 1 - (1 - failures.interruptions_per_gpu_hour) ** (hours * first.count)
    if odds < _ODDS_WORTH_SAYING:
        return []
    card = ground.choices[0].tried.form.card
    return [
        notice(
            NoticeCode.LONG_RUN,
            _INFO,
            card=card.id,
            gpus=first.count,
            run_hours=hours,
            failure_percent=100 * odds,
            ecc=card.ecc.value,
        )
    ]


def _slices(option: RecommendedOption) -> list[Notice]:
    """14, 18: slices of whole machines, and what each tenant costs."""
    if option.mig is None:
        return []
    return [
        notice(
            NoticeCode.SLICES_FOR_TENANTS,
            _INFO,
            card=option.card,
            mig=option.mig,
            replicas=option.copies,
            each_usd_per_month=option.usd_per_month / option.copies,
        )
    ]


def _both(ground: Ground) -> list[Notice]:
    """24: rent the two best cards of different kinds, run the same test, then decide."""
    if ground.choices[0].lot.own:  # nobody rents what is theirs
        return []
    first = ground.options[0].card
    others = zip(ground.options, ground.choices, strict=True)
    second = next((option.card for option, choice in others if option.card != first and not choice.lot.own), None)
    return [notice(NoticeCode.RENT_BOTH, _INFO, card=first, other=second)] if second else []


def _privacy(ground: Ground) -> list[Notice]:
    """29, 30: said where places, identity or payment were asked about."""
    asked = ground.wanted.constraints
    private = (
        asked.identity_check,
        asked.billing,
        asked.payment_methods,
        asked.server_countries,
        asked.exclude_server_countries,
        asked.company_countries,
        asked.exclude_company_countries,
    )
    return [notice(NoticeCode.KEEP_CHECKPOINTS_SAFE, _INFO)] if any(private) else []
