"""How long outputs are: a mean and a 95th percentile make a log-normal distribution."""

from __future__ import annotations

import math
from typing import NamedTuple

Z95 = 1.6449
"""95th percentile of the normal distribution."""

USUAL_P95_OVER_MEAN = 2.2
"""Where no percentile is stated: p95 over mean latency of MLPerf Llama 2 70B servers, on five cards at any load."""

MOST_OVER_MEAN = math.exp(Z95**2 / 2)
"""No log-normal distribution has its 95th percentile further above its mean (3.87 times)."""


class Lengths(NamedTuple):
    """Mean, median and 95th percentile in tokens, and the squared coefficient of variation."""

    mean: float
    median: float
    p95: float
    variation: float

    @property
    def seen_mean(self) -> float:
        """Tokens that a request in service has written so far, on average: longer ones are met more often."""
        return self.mean * (1 + self.variation) / 2


def lengths(mean: float, p95: float | None) -> Lengths:
    """The distribution of *mean* and *p95*; a percentile at the mean or below makes all lengths equal.

    p95 / mean = exp(z σ - σ² / 2), whose smaller root is σ = z - sqrt(z² - 2 ln(p95 / mean)).
    """
    ratio = min(USUAL_P95_OVER_MEAN if p95 is None else p95 / mean, MOST_OVER_MEAN)
    if ratio <= 1:
        return Lengths(mean, mean, mean, 0.0)
    sigma = Z95 - math.sqrt(max(0.0, Z95**2 - 2 * math.log(ratio)))
    return Lengths(mean, mean * math.exp(-(sigma**2) / 2), mean * ratio, math.exp(sigma**2) - 1)
