"""The peak of vLLM's profiling run: a forward pass of a full batch, then one sampling step for every request."""

from __future__ import annotations

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.bands import fitted_band, stretched, sure
from cardmatch.engine.memory.calibration import VllmCalibration
from cardmatch.engine.memory.engines.vllm.eras import Sampler
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.settle import Settled
from cardmatch.engine.memory.explain.explanation import Rule
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.models.cache import CacheKind
from cardmatch.engine.terms.band import Band, add
from cardmatch.engine.terms.units import MIB

LOGIT_BYTES = 4
ACTIVATION_BYTES = 2
INDEXER_LOGITS_BYTES = 512 * MIB
"""VLLM_SPARSE_INDEXER_MAX_LOGITS_MB."""

MOST_MEASURED_TOKENS = 16_384
"""The largest batch among the truth cases; beyond it activations are extrapolated."""


def activations(
    job: ServingJob,
    options: Vllm,
    settled: Settled,
    layout: Layout,
    longest: int,
    calibration: VllmCalibration,
) -> Band:
    """The largest peak, with the hidden states that live through it; an image encoder is profiled for itself.

    Logits are gathered on every rank. Source: vllm v0.33.0 v1/worker/gpu_model_runner.py, profile_run and
    _dummy_sampler_run.
    """
    hidden = sure(settled.max_num_batched_tokens * job.architecture.hidden_size * ACTIVATION_BYTES)
    found = peaks(job, options, settled, layout, longest, calibration)
    return add(hidden, max(found.values(), key=lambda band: band.expected_bytes))


def peaks(
    job: ServingJob, options: Vllm, settled: Settled, layout: Layout, longest: int, calibration: VllmCalibration
) -> dict[Rule, Band]:
    """What each step of the profiling run holds at its peak."""
    found = {
        Rule.SAMPLING: _sampling(job, settled, calibration),
        Rule.FORWARD: _forward(job, settled.max_num_batched_tokens, layout, calibration),
        Rule.INDEXER_SCORES: sure(_indexer_logits(job, settled, longest)),
    }
    if job.architecture.towers and not options.language_model_only:
        found[Rule.ENCODER_PROFILE] = fitted_band(calibration.tower_bytes, 1)
    return found


def _sampling(job: ServingJob, settled: Settled, calibration: VllmCalibration) -> Band:
    """Copies of every request's logits; while vLLM sorted, an installed FlashInfer spared it that."""
    requests = min(settled.max_num_seqs, settled.max_num_batched_tokens)
    units = requests * job.architecture.vocabulary_size * LOGIT_BYTES
    fused = fitted_band(calibration.fused_copies, units)
    if settled.sampler is Sampler.FUSED:
        return fused
    sorting = fitted_band(calibration.sorted_copies, units)
    return msgspec.structs.replace(sorting, low_bytes=min(sorting.low_bytes, fused.low_bytes))


def _forward(job: ServingJob, batched: int, layout: Layout, calibration: VllmCalibration) -> Band:
    units = batched * ACTIVATION_BYTES * widest(job.widths, layout.tensor)
    band = fitted_band(calibration.forward_widths, units)
    return band if batched <= MOST_MEASURED_TOKENS else stretched(band, batched / MOST_MEASURED_TOKENS)


def _indexer_logits(job: ServingJob, settled: Settled, longest: int) -> int:
    """Scores of a batch against all earlier tokens, in fp32; chunked to a fixed size since 0.21."""
    if not any(row.kind is CacheKind.INDEXER for row in job.cache_rows):
        return 0
    whole = settled.max_num_batched_tokens * longest * LOGIT_BYTES
    return whole if settled.era.whole_indexer_logits else min(whole, INDEXER_LOGITS_BYTES)
