"""The number format in which vLLM keeps recurrent states."""

from __future__ import annotations

import msgspec

from cardmatch.engine.memory.engines.vllm.eras import Era
from cardmatch.engine.memory.engines.vllm.options import Vllm, VllmStateDtype
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.architecture import LinearAttention, LinearKind, StateDtypes

_ASKED = {VllmStateDtype.FLOAT32: 4, VllmStateDtype.BFLOAT16: 2, VllmStateDtype.FLOAT16: 2}
_MODELS_OWN = 2
_FP32 = 4
_FP32_BY_DEFAULT = "nemotron_h"


def state_dtypes(job: ServingJob, options: Vllm, era: Era) -> StateDtypes:
    """Asked for, said by the configuration, or else the model's own type: Kimi's delta attention alone is in fp32.

    Source: vllm v0.33.0 model_executor/layers/mamba/mamba_utils.py, models/config.py; v0.11.0 read no configuration.
    """
    own = job.architecture.state
    bytes_ = _ASKED.get(options.mamba_ssm_cache_dtype)
    if bytes_ is None and era.reads_state_dtype:
        bytes_ = own.recurrent_bytes or (_FP32 if job.architecture.family == _FP32_BY_DEFAULT else None)
    if bytes_ is None:
        bytes_ = _FP32 if _has_kimi_delta(job) else _MODELS_OWN
    return msgspec.structs.replace(own, recurrent_bytes=bytes_)


def _has_kimi_delta(job: ServingJob) -> bool:
    return any(
        isinstance(block, LinearAttention) and block.variant is LinearKind.KDA
        for group in job.architecture.layer_groups
        for block in group.blocks
    )
