"""What the guides say to whoever names a preset: the card that they point to, and what the figures say of it."""

from __future__ import annotations

from cardmatch.engine.advice.answer import RecommendedOption
from cardmatch.engine.advice.expand import PresetKind, Used
from cardmatch.engine.advice.presets import MoveUp
from cardmatch.engine.money.work import Job
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity, notice

_INFO = Severity.INFO
_MOVE_UP = {
    MoveUp.MEMORY: NoticeCode.MOVE_UP_FOR_MEMORY,
    MoveUp.LATENCY: NoticeCode.MOVE_UP_FOR_LATENCY,
    MoveUp.TENANTS: NoticeCode.MOVE_UP_FOR_TENANTS,
}
_VERDICTS = {
    PresetKind.PROFILE: (NoticeCode.PROFILE_AGREES, NoticeCode.PROFILE_DIFFERS),
    PresetKind.JOB: (NoticeCode.JOB_AGREES, NoticeCode.JOB_DIFFERS),
}


def told(used: tuple[Used, ...]) -> tuple[Notice, ...]:
    """What each preset set, and where it has it from."""
    return tuple(
        [
            notice(
                NoticeCode.PRESET_USED,
                _INFO,
                preset=each.name,
                fields=list(each.fields),
                source=each.preset.source,
                as_of=each.preset.as_of.isoformat(),
            )
            for each in used
            if each.fields
        ]
    )


def differing(used: tuple[Used, ...], first: RecommendedOption) -> tuple[Used, ...]:
    """The presets that the guides point to another card than that of the *first* option."""
    return tuple([each for each in used if each.preset.cards and first.card not in each.preset.cards])


def guided(each: Used, first: RecommendedOption, theirs: RecommendedOption | None) -> tuple[Notice, ...]:
    """8, 16, 18: whether the figures agree with the guides' card, *theirs* if it is another, and when to move up."""
    found = []
    if each.preset.cards:
        agrees, differs = _VERDICTS[each.kind]
        agreed = first.card in each.preset.cards
        other = first.card if agreed else theirs.card if theirs else each.preset.cards[0]
        code = agrees if agreed else differs
        params = {each.kind.value: each.name, "card": first.card, "other": other}
        found.append(notice(code, _INFO, **params))
        if not agreed:
            found.append(_figures(first, theirs, other))
    if each.preset.move_up is not None:
        found.append(notice(_MOVE_UP[each.preset.move_up], _INFO, card=first.card))
    return tuple(found)


def _figures(first: RecommendedOption, theirs: RecommendedOption | None, other: str) -> Notice:
    """What the guides' card would cost for the same request, or that it meets it at no price."""
    if theirs is None:
        return notice(NoticeCode.GUIDES_CARD_MISSES, _INFO, other=other)
    if first.cost is not None and theirs.cost is not None and _is_job(first):
        return notice(
            NoticeCode.GUIDES_CARD_BY_JOB,
            _INFO,
            other=other,
            other_usd=theirs.cost.total.expected_usd,
            card=first.card,
            card_usd=first.cost.total.expected_usd,
        )
    return notice(
        NoticeCode.GUIDES_CARD_BY_MONTH,
        _INFO,
        other=other,
        other_usd_per_month=theirs.usd_per_month,
        card=first.card,
        card_usd_per_month=first.usd_per_month,
    )


def _is_job(option: RecommendedOption) -> bool:
    return option.cost_request is not None and isinstance(option.cost_request.work, Job)
