"""Encoders as a request asks for them."""

from __future__ import annotations

import pytest

from cardmatch.answers.model import resolve_model
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.encode.job import EncodeJob, settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.speed.encoded import encoder_shape, encoding_speed
from tests.engine.speed.places import chip

KNOWN = bundled().calibration.speed


def job(name: str, workload: Encode) -> EncodeJob:
    """The job of a catalogue model."""
    model = resolve_model(bundled(), name)
    return settle(workload, model.architecture, model.checkpoint)


def test_vectors_are_made_below_the_vocabulary() -> None:
    """BERT-large: 24 layers of 12 × 1024² parameters and no head; Qwen3-Embedding leaves its tied head out."""
    bert = encoder_shape(job("google-bert/bert-large-uncased", Encode()))
    assert bert.multiplied == pytest.approx(24 * 12 * 1024**2, rel=0.01)
    tied = encoder_shape(job("Qwen/Qwen3-Embedding-0.6B", Encode()))
    assert tied.multiplied == pytest.approx(0.44e9, rel=0.01)  # the card's 0.6B less its embeddings of 151,669 × 1,024


def test_a_published_server_lies_in_the_band() -> None:
    """text-embeddings-inference, bge-base-en-v1.5 on an A10G, 512 tokens, batches of 32: about 450 texts a second."""
    model = job("BAAI/bge-base-en-v1.5", Encode(weights="fp16"))
    found = encoding_speed(model, encoder_shape(model), chip("a10g"), KNOWN, batch=32, tokens=512)
    assert found.items_per_second.low <= 450 <= found.items_per_second.high
    assert found.items_per_second.basis == "extrapolated"


def test_32_bits_are_multiplied_outside_the_tensor_cores() -> None:
    """An A100 has 19.5 TFLOPS of FP32 against 312 of FP16."""
    rates = []
    for weights in ("as_published", "fp16"):
        model = job("BAAI/bge-large-en-v1.5", Encode(weights=weights))
        found = encoding_speed(model, encoder_shape(model), chip("a100-sxm-80"), KNOWN, batch=32, tokens=512)
        rates.append(found.items_per_second.expected)
    assert rates[1] > 8 * rates[0]


def test_recordings_take_as_long_as_their_windows() -> None:
    """An hour is 120 windows of Whisper's: it takes 120 times as long as one; hypotheses cost more."""
    speech = Encode(task=EncodeTask.SPEECH, audio_seconds=3600)
    rates = []
    for workload in (Encode(task=EncodeTask.SPEECH), speech, Encode(task=EncodeTask.SPEECH, beams=5)):
        model = job("openai/whisper-large-v3", workload)
        found = encoding_speed(model, encoder_shape(model), chip("rtx-4090"), KNOWN, batch=8, tokens=0)
        rates.append(found.items_per_second.expected)
    assert rates[0] == pytest.approx(120 * rates[1])
    assert rates[2] < rates[0]
