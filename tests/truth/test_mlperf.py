"""MLPerf's rows at the lengths of their data sets."""

from __future__ import annotations

import pytest

from tests.truth.cases import COMMITTED
from tests.truth.families.mlperf import Little, MlperfFamily
from tests.truth.scoring import cases_of, score_family
from tests.truth.world import TruthWorld


def test_rows_get_the_lengths_that_their_logs_leave_open() -> None:
    """Llama 2 70B on eight H100s, Offline: prompts of 222 tokens, and 24,524.9 / 84.479 = 290 of output."""
    rows = {case.id: case for case in cases_of(MlperfFamily(), COMMITTED)}
    row = rows["mlperf-v4.1-h100-sxm-80x8-llama2-70b-offline"]
    assert (row.setup["prompt_tokens"], row.setup["output_tokens"], row.exclude) == (222, 290, None)
    server = rows["mlperf-v4.1-h100-sxm-80x8-llama2-70b-server"]
    assert server.setup["concurrency"] == round(74.42 * 44.9545)


def test_requests_at_once_follow_from_rate_and_latency() -> None:
    """Little: 10 a second that stay 2 seconds each are 20."""
    assert Little(10.0, 2.0).requests == 20


def test_they_are_printed_and_not_marked() -> None:
    """Rows of every scenario, most of them within a factor of two; no mark is judged on them."""
    family = MlperfFamily()
    result = score_family(family, cases_of(family, COMMITTED), TruthWorld())
    assert result.marks == ()
    ratios = [figure.predicted / figure.measured for row in result.left_out for figure in row.figures]
    assert len(ratios) > 20
    assert sum(0.5 < ratio < 2 for ratio in ratios) == pytest.approx(len(ratios), abs=4)
