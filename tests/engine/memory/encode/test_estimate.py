"""What encoders need, against published figures and the sums that they follow from."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.placements import resolve_placement
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.encode.answer import EncodeEstimate
from cardmatch.engine.memory.encode.estimate import estimate_encode
from cardmatch.engine.memory.encode.workload import Encode
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB

WORLD = bundled()


def estimate(name: str, card: str = "rtx-4090", *, ways: bool = False, **fields: Any) -> EncodeEstimate:
    """The estimate of one card."""
    row = WORLD.models[name]
    return estimate_encode(
        row.architecture,
        row.checkpoint,
        msgspec.convert(fields, Encode),
        (resolve_placement(WORLD, card),),
        WORLD.calibration.diffusion,
        alternatives=(resolve_placement(WORLD, "h100-sxm-80"),) if ways else (),
    )


def test_whisper_large_takes_what_was_measured() -> None:
    """large-v2 in fp16 with five beams: 4,708 MB (openai/whisper) and 4,960 MB (transformers), by faster-whisper."""
    found = estimate("openai/whisper-large-v2", task="speech", audio_seconds=780, beams=5, weights="fp16")
    assert 4.5 <= found.placements[0].per_gpu.total.expected_bytes / GIB <= 5.0
    assert found.need.windows == 26


def test_the_cache_of_speech_is_that_of_every_hypothesis() -> None:
    """32 layers × keys and values × (1,500 frames + 448 tokens) × 1,280 × 2 bytes a beam."""
    one = estimate("openai/whisper-large-v2", task="speech").need.kv_cache_bytes
    assert one == 32 * 2 * (1500 + 448) * 1280 * 2
    many = estimate("openai/whisper-large-v2", task="speech", beams=5, batch=2).need.kv_cache_bytes
    assert many == 10 * one


def test_longer_audio_takes_no_more_at_once() -> None:
    """Windows follow one another."""
    short, long = (
        estimate("openai/whisper-large-v3", task="speech", audio_seconds=seconds).placements[0].per_gpu
        for seconds in (30, 7200)
    )
    assert short == long


def test_activations_grow_with_batch_and_length() -> None:
    """Linear in both with a fused kernel; with plain attention the scores grow with the square of the length."""
    fused = [
        estimate("BAAI/bge-m3", batch=b, sequence_tokens=s).need.activations_bytes for b, s in ((1, 512), (8, 1024))
    ]
    assert fused[1] == 16 * fused[0]
    plain = estimate("BAAI/bge-m3", batch=1, sequence_tokens=1024, attention="eager").need.activations_bytes
    assert plain - 2 * fused[0] == 2 * 2 * 16 * 1024 * 1024


def test_the_largest_batch_runs_and_the_next_does_not() -> None:
    """What is needed is weights, activations and the CUDA context."""
    found = estimate("BAAI/bge-m3", sequence_tokens=8192)
    placement, need = found.placements[0], found.need
    room = placement.budget_bytes - WORLD.calibration.diffusion.context_bytes.value - need.weights_bytes
    assert placement.max_batch * need.activations_bytes <= room < (placement.max_batch + 1) * need.activations_bytes


def test_the_parts_add_up_and_ways_help() -> None:
    """A batch that is far too large: a smaller one fits."""
    placement = estimate(
        "BAAI/bge-reranker-v2-m3", ways=True, task="rerank", batch=4096, sequence_tokens=4096
    ).placements[0]
    on = placement.per_gpu
    parts = on.weights_bytes + on.kv_cache_bytes + on.activations_bytes + on.overhead_bytes
    assert parts == on.total.expected_bytes
    assert placement.verdict is Verdict.DOES_NOT_FIT
    assert placement.ways_to_fit[0].changes[0].pointer == "/workload/batch"


def test_a_length_beyond_the_model_is_noticed() -> None:
    """bge-base reads 512 tokens."""
    found = estimate("BAAI/bge-base-en-v1.5", sequence_tokens=4096)
    assert [notice.code.value for notice in found.notices] == ["encoder_length_beyond_model"]


@pytest.mark.parametrize(
    ("name", "fields", "code", "pointer"),
    [
        ("BAAI/bge-m3", {"task": "speech"}, FaultCode.TASK_OF_OTHER_MODEL, "/workload/task"),
        ("openai/whisper-large-v3", {"task": "embedding"}, FaultCode.TASK_OF_OTHER_MODEL, "/workload/task"),
        ("BAAI/bge-m3", {"audio_seconds": 3}, FaultCode.FIELD_OF_OTHER_TASK, "/workload/audio_seconds"),
        ("openai/whisper-base", {"task": "speech", "sequence_tokens": 3}, FaultCode.FIELD_OF_OTHER_TASK,
         "/workload/sequence_tokens"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(name: str, fields: dict[str, Any], code: FaultCode, pointer: str) -> None:
    """Each with its pointer."""
    with pytest.raises(Invalid) as refused:
        estimate(name, **fields)
    assert (refused.value.faults[0].code, refused.value.faults[0].pointer) == (code, pointer)
