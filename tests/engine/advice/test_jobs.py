"""Jobs of few requests, and jobs that are in a hurry: no work is done faster than one of its requests."""

from __future__ import annotations

import pytest

from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.question import JobOfWork, Load, Wanted
from cardmatch.engine.terms.notice import NoticeCode
from tests.engine.advice.asking import asked
from tests.engine.advice.searching import real_paces

LENGTHS = Load(prompt_tokens=1000, output_tokens=300)
AS_LONG = 0.95
"""What is waited for the first token counts a little differently in a request's time than in the rate of many."""


def found(items: int, hours: float | None = None, tenants: int = 1) -> Recommended:
    """The recommendation for *items* within *hours*."""
    job = JobOfWork(items=items, deadline_hours=hours)
    return asked(Wanted(load=LENGTHS, job=job, instances=tenants), paces=real_paces())


@pytest.mark.parametrize("items", [1, 10, 100, 1000])
@pytest.mark.parametrize("hours", [None, 0.003])
def test_a_job_takes_as_long_as_one_of_its_requests(items: int, hours: float | None) -> None:
    """However few they are and however much hardware there is; and no copy is without a request."""
    options = found(items, hours).options
    assert options
    for option in options:
        assert option.copies <= items
        assert option.speed is not None
        assert option.speed.request_seconds is not None
        seconds = items / option.speed.expected_units_per_second
        assert seconds >= AS_LONG * option.speed.request_seconds
        assert hours is None or items / option.speed.low_units_per_second <= hours * 3600 * 1.001


def test_a_deadline_shorter_than_a_request_is_met_by_nothing() -> None:
    """Thirty-six milliseconds for ten requests: no option, and the hours that it takes are named."""
    answer = found(10, 1e-5)
    assert answer.options == ()
    late = [row for row in answer.not_chosen if row.reason.code is NoticeCode.OPTION_BREAKS_LIMIT]
    assert late
    assert all(row.reason.params["field"] == "deadline_hours" for row in late)
    assert all(1e-5 < float(str(row.reason.params["value"])) < 1 for row in late)


def test_a_large_job_is_as_before_shared_among_full_copies() -> None:
    """A million requests in twelve hours: twice the time takes about half of the copies."""
    twelve, day = (found(1_000_000, hours).options[0] for hours in (12, 24))
    assert 1 <= day.copies <= twelve.copies
    assert twelve.usd_per_hour >= day.usd_per_hour
