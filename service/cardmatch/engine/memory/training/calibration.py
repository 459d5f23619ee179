"""Constants of training memory that are measured, not derived; `tools/calibrate` fits them from truth cases."""

from __future__ import annotations

import msgspec


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fitted constant, how many cases and sources move it, and its range over fits that leave one source out."""

    value: float
    low: float
    high: float
    cases: int
    sources: int


class Spread(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far off peaks are of cases whose source was left out of the fit: a low and a high quantile.

    The ratios are measured over predicted of what comes on top of weights and optimizer states, which shapes give.
    """

    low_ratio: float
    high_ratio: float
    cases: int


class Residual(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case of the fit: where it comes from, and measured over predicted with and without its source."""

    case: str
    source: str
    kind: str
    ratio: float
    ratio_left_out: float


class TrainingCalibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How real runs differ from the bytes that follow from shapes.

    `eager_logit_bytes` and `kernel_logit_bytes`: bytes per logit at the loss's peak, op by op and in one kernel.
    `live_factor`: temporaries of the layer in its backward pass, over what autograd keeps of it;
    `sharded_live_factor` where parameters are gathered on other streams, which delays frees. `eager_factor`: kept
    activations of layers run op by op. `unreused_share`: of the smaller of loss and recomputation, what the allocator
    reserves besides because its blocks do not fit; `step_unreused_share` of both where the optimizer's step is the
    peak. `varying_growth`: how much more it reserves for logits where lengths vary. `context_bytes`: CUDA context and
    library workspaces; `rank_bytes`: NCCL's buffers once there are several GPUs. `process_of_several` is
    the spread on several GPUs, `varying` that of what is reserved where lengths vary.
    """

    as_of: str
    eager_logit_bytes: Fit
    kernel_logit_bytes: Fit
    live_factor: Fit
    sharded_live_factor: Fit
    eager_factor: Fit
    unreused_share: Fit
    step_unreused_share: Fit
    varying_growth: Fit
    context_bytes: Fit
    rank_bytes: Fit
    allocated: Spread
    reserved: Spread
    process: Spread
    process_of_several: Spread
    varying: Spread
    residuals: tuple[Residual, ...] = ()
