"""What facts that nobody published could add to a bill: how far the range reaches up, and what to ask next."""

from __future__ import annotations

import msgspec

from cardmatch.engine.money.bill import Bill, bill, more_if_billed_by
from cardmatch.engine.money.charges import EGRESS_WHERE_UNKNOWN, STORAGE_WHERE_UNKNOWN
from cardmatch.engine.money.setting import Setting
from cardmatch.engine.terms.notice import QuestionCode

Unknown = dict[QuestionCode, float]
"""Dollars that each missing fact could add, at the dearest that was read."""


def unknown(setting: Setting, paid: Bill) -> Unknown:
    """What is not known of the terms of *setting*, and matters to its bill."""
    if setting.owned is not None:
        return {}
    found: Unknown = {}
    if (usd := _increment_usd(setting, paid)) > 0:
        found[QuestionCode.BILLING_INCREMENT_SECONDS] = usd
    if (usd := _egress_usd(setting)) > 0:
        found[QuestionCode.EGRESS_USD_PER_GB] = usd
    if (usd := _storage_usd(setting, paid)) > 0:
        found[QuestionCode.STORAGE_USD_PER_GB_MONTH] = usd
    return found


def _increment_usd(setting: Setting, paid: Bill) -> float:
    """What billing by the hour would add, where nobody says how the provider rounds."""
    if setting.terms.increment_known:
        return 0.0
    return more_if_billed_by(setting.plan, paid, 1.0)


def _egress_usd(setting: Setting) -> float:
    """What the data would cost at the dearest price read, where the provider's is unknown."""
    if not setting.egress_unknown:
        return 0.0
    moved = setting.plan.out_gb * (1 if setting.plan.service else setting.plan.runs)
    return moved * EGRESS_WHERE_UNKNOWN


def _storage_usd(setting: Setting, paid: Bill) -> float:
    """What keeping the data would cost at the dearest price read, where the provider's is unknown."""
    if setting.terms.storage_usd_per_gb_month is not None or not setting.plan.stored_gb:
        return 0.0
    dearest = msgspec.structs.replace(
        setting.plan,
        storage_usd_per_gb_month=STORAGE_WHERE_UNKNOWN,
        stopped_storage_usd_per_gb_month=setting.terms.stopped_storage_usd_per_gb_month or STORAGE_WHERE_UNKNOWN,
    )
    return bill(dearest).total_usd - paid.total_usd
