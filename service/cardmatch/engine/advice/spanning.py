"""How many machines a copy may sensibly span: about as many as hold it, whatever number is allowed."""

from __future__ import annotations

import math

from cardmatch.engine.advice.candidates import Form
from cardmatch.engine.advice.trying import Trying

BUDGET_SHARE = 0.98
"""No engine may fill more of a card: weights beyond it need not be tried."""

_RUNGS = frozenset({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
_NEAR = 2


def worth_spanning(shared: Trying, form: Form, most: int) -> bool:
    """Whether *form* takes a number of machines that is worth a try: one, or about as many as a copy needs.

    From the fewest that hold the weights to twice those that hold a request beside them: every one at first, then
    fewer and fewer. Beyond that another copy serves more than a longer pipeline. Where *most* are too few, those are
    tried, to say by how much.
    """
    if form.nodes == 1:
        return True
    each = form.gpus // form.nodes * form.device.memory_high_bytes * BUDGET_SHARE
    weights = 0 if shared.offload else shared.layer_bytes(form.weights)
    fewest = max(1, math.ceil(weights / each))
    if fewest > most:
        return form.nodes == most
    longest = 2 * math.ceil((shared.layer_bytes(form.weights) + shared.request_cache_bytes) / each) + 1
    return fewest <= form.nodes <= longest and (form.nodes <= fewest + fewest // 2 + _NEAR or form.nodes in _RUNGS)
