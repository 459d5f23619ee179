"""A request as it is posted, answered from the bundled catalogue on a fixed day."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.recommend import Recommendation, RecommendRequest, recommendation
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language

DAY = dt.date(2026, 11, 30)


def recommended(**body: Any) -> Recommendation:
    """The answer to *body*, which passes through JSON as on the wire."""
    request = msgspec.json.decode(msgspec.json.encode(body), type=RecommendRequest)
    answer = recommendation(bundled(), request, Language.EN, DAY)
    msgspec.json.encode(answer)
    return answer


def refused(**body: Any) -> list[str]:
    """The pointers of what is wrong with *body*."""
    with pytest.raises(Invalid) as caught:
        recommended(**body)
    return [fault.pointer for fault in caught.value.faults]
