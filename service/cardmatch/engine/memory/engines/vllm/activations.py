"""The peak of vLLM's profiling run: a forward pass of a full batch, then one sampling step for every request."""

from __future__ import annotations

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.bands import fitted_band
from cardmatch.engine.memory.calibration import VllmCalibration
from cardmatch.engine.memory.engines.vllm.eras import Sampler
from cardmatch.engine.memory.engines.vllm.options import Vllm
from cardmatch.engine.memory.engines.vllm.settle import Settled
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.widths import widest
from cardmatch.engine.terms.band import Band

_LOGIT_BYTES = 4
_ACTIVATION_BYTES = 2


def activations(job: ServingJob, options: Vllm, settled: Settled, layout: Layout, calibration: VllmCalibration) -> Band:
    """The larger of the two peaks; the vocabulary's logits are gathered on every rank.

    Source: vllm v0.33.0 v1/worker/gpu_model_runner.py, profile_run and _dummy_sampler_run.
    """
    del options
    requests = min(settled.max_num_seqs, settled.max_num_batched_tokens)
    logits = requests * job.architecture.vocabulary_size * _LOGIT_BYTES
    copies = calibration.sorted_copies if settled.sampler is Sampler.SORTED else calibration.fused_copies
    tokens = settled.max_num_batched_tokens * _ACTIVATION_BYTES
    sampling = fitted_band(copies, logits)
    forward = fitted_band(calibration.forward_widths, tokens * widest(job.widths, layout.tensor))
    return sampling if sampling.expected_bytes > forward.expected_bytes else forward
