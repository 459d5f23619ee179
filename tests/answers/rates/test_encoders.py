"""Embeddings, rerankers and speech, predicted for options of /cost."""

from __future__ import annotations

import pytest

from cardmatch.engine.terms.band import Basis
from tests.answers.rates.predicting import answered, assumed, rate_of, refused

ITEMS = {"unit": "item"}
BGE = "BAAI/bge-large-en-v1.5"
RERANKER = "BAAI/bge-reranker-v2-m3"
WHISPER = "openai/whisper-large-v2"


@pytest.mark.parametrize(("server", "tokens_per_second"), [("TEI", 62_192), ("Infinity", 58_787)])
def test_two_servers_on_an_l4_lie_in_the_band(server: str, tokens_per_second: float) -> None:
    """bge-large in fp16, 449 tokens a sentence, as Infinity's benchmarking page has them."""
    rate = rate_of(
        answered(BGE, {"unit": "token"}, {"kind": "encode", "weights": "fp16", "sequence_tokens": 449}, card="l4")
    )
    assert rate.low_units_per_second <= tokens_per_second <= rate.high_units_per_second, server
    assert rate.basis is Basis.EXTRAPOLATED


def test_texts_are_items_and_tokens_are_counted_too() -> None:
    """Texts of 512 tokens: so many tokens for each; a request is a text."""
    texts, requests, tokens = (
        rate_of(answered(BGE, {"unit": unit}, {"kind": "encode", "sequence_tokens": 512})).expected_units_per_second
        for unit in ("item", "request", "token")
    )
    assert texts == requests
    assert tokens == pytest.approx(512 * texts)


def test_what_was_left_out_is_echoed() -> None:
    """Thirty-two texts at once of 512 tokens, in the checkpoint's 32 bits."""
    said = assumed(answered(BGE, ITEMS))
    assert said["/workload/batch"] == 32
    assert said["/workload/sequence_tokens"] == 512
    assert said["/workload/weights"] == "fp32"


def test_thirty_two_bits_leave_the_tensor_cores_alone() -> None:
    """An H100 multiplies some fifteen times as fast in 16 bits; small passes get less out of it."""
    half, whole = (
        rate_of(answered(BGE, ITEMS, {"weights": weights})).expected_units_per_second for weights in ("fp16", "fp32")
    )
    assert 4 < half / whole < 15


def test_pairs_are_ranked_and_copies_add_up() -> None:
    """A reranker reads query and document together; two cards rank twice as many pairs."""
    workload = {"task": "rerank", "weights": "fp16", "sequence_tokens": 512}
    one, two = (rate_of(answered(RERANKER, ITEMS, workload, count=count)).expected_units_per_second for count in (1, 2))
    assert two == pytest.approx(2 * one)


@pytest.mark.parametrize(
    ("batch", "seconds"), [(1, 112), (1, 63), (8, 17)], ids=["Transformers", "faster-whisper", "faster-whisper, 8"]
)
def test_thirteen_minutes_of_speech_take_as_long_as_was_measured(batch: int, seconds: float) -> None:
    """Whisper large-v2 with five beams on an RTX 3070 Ti, whose nearest neighbour in the catalogue is an A10.

    608 against 600 GB/s, 87 against 125 dense FP16 Tflop/s: one audio of 13 minutes is one item.
    """
    workload = {"task": "speech", "audio_seconds": 780, "batch": batch, "beams": 5}
    rate = rate_of(answered(WHISPER, ITEMS, workload, card="a10"))
    assert rate.low_units_per_second <= 1 / seconds <= rate.high_units_per_second


@pytest.mark.parametrize(
    ("model", "unit", "workload", "pointer", "code"),
    [
        (WHISPER, "item", {}, "/workload/task", "task_of_other_model"),
        (BGE, "item", {"task": "speech"}, "/workload/task", "task_of_other_model"),
        (WHISPER, "token", {"kind": "encode", "task": "speech"}, "/workload/task", "unit_of_other_work"),
        ("sdxl", "item", {"kind": "encode"}, "/model", "wrong_kind_of_model"),
        (BGE, "image", {"kind": "encode"}, "/workload/kind", "unit_not_of_workload"),
        (BGE, "item", {"batch": 65_536, "sequence_tokens": 100_000}, "/model", "model_does_not_fit"),
    ],
)
def test_what_is_not_predicted_is_refused_where_it_stands(
    model: str, unit: str, workload: dict[str, object], pointer: str, code: str
) -> None:
    """The task of another model, tokens of speech, a pipeline, pictures of an encoder, a batch beyond memory."""
    fault = refused(model, {"unit": unit}, workload)
    assert (fault.pointer, fault.code.value) == (f"/options/0/throughput{pointer}", code)


def test_a_reading_model_cannot_answer() -> None:
    """Tokens a second of an encoder are asked for as encoding; the refusal says which kind fits."""
    fault = refused(BGE, {"unit": "token", "prompt_tokens": 100, "output_tokens": 10})
    assert fault.code.value == "wrong_kind_of_model"
    assert fault.params["fitting"] == "encode"


def test_what_an_item_of_a_language_model_is_must_be_said() -> None:
    """It may be an answer or an embedding; with the kind of workload it is clear."""
    fault = refused("Qwen/Qwen3-8B", ITEMS)
    assert (fault.pointer, fault.code.value) == ("/options/0/throughput/workload", "needs_field")
    assert rate_of(answered("Qwen/Qwen3-8B", ITEMS, {"kind": "encode"})).unit == "item"
