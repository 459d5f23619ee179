"""POST /estimate-vram for training: what the buyers' guides say, asked in people's words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from cardmatch.answers.estimate import EstimateRequest, estimate_vram
from cardmatch.answers.training import TrainingAnswer
from cardmatch.catalogue.world import bundled
from cardmatch.engine.memory.training.workload import Sharding
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.band import Basis
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.notice import NoticeCode, QuestionCode
from cardmatch.text.language import Language

TODAY = dt.date(2026, 11, 30)
RUNS = {Verdict.COMFORTABLE, Verdict.FITS}
EIGHT_H100 = {"card": "h100-sxm-80", "count": 8}


def ask(model: str, workload: dict[str, Any], cards: list[Any] | None = None, **more: Any) -> TrainingAnswer:
    """The answer to a request as it stands on the wire."""
    body = {"model": model, "workload": {"kind": "training", **workload}, **more}
    if cards is not None:
        body["cards"] = cards
    request = msgspec.convert(body, EstimateRequest)
    answer = estimate_vram(bundled(), request, request.language or Language.EN, TODAY)
    assert isinstance(answer, TrainingAnswer)
    return answer


@pytest.mark.parametrize(
    ("model", "method"), [("llama 2 13b", "qlora"), ("llama 2 7b", "lora"), ("llama 3.1 8b", "lora")]
)
def test_one_4090_does_small_fine_tunes(model: str, method: str) -> None:
    """The guides' rows on LoRA and small fine-tunes of 7B to 13B."""
    assert ask(model, {"method": method}, ["rtx-4090"]).placements[0].verdict in RUNS


def test_full_training_of_70b_is_for_several_80_gb_cards() -> None:
    """The guides: frontier training and full fine-tuning of 70B and up take several GPUs."""
    answer = ask("llama 3.3 70b", {"method": "full"}, ["h100-sxm-80", {"card": "h100-sxm-80", "count": 16}])
    assert [placement.verdict in RUNS for placement in answer.placements] == [False, True]


def test_without_cards_those_of_the_guides_are_judged() -> None:
    """Four cards, and the assumption says so."""
    answer = ask("llama 3.1 8b", {"method": "lora"})
    assert [placement.card for placement in answer.placements] == [
        "rtx-4090", "a100-sxm-40", "a100-sxm-80", "h100-sxm-80",
    ]  # fmt: skip
    assert "/cards" in {assumption.pointer for assumption in answer.assumptions}


def test_several_cards_share_the_states_unless_a_layout_says_otherwise() -> None:
    """FSDP by default; with tensor parallelism over all of them nothing is left to shard."""
    shared, split = (
        ask("llama 3.1 8b", {"method": "full"}, [card]).placements[0]
        for card in (EIGHT_H100, EIGHT_H100 | {"layout": {"tensor": 8}})
    )
    assert (shared.sharding, shared.layout.data) == (Sharding.FSDP, 8)
    assert (split.sharding, split.layout.tensor) == (Sharding.NONE, 8)


def test_every_sentence_is_in_the_language_that_was_asked_for() -> None:
    """Summary, assumptions, ways to fit and the next question."""
    answer = ask("llama 3.3 70b", {"method": "full"}, [EIGHT_H100], language="es")
    assert answer.summary.startswith(
        "Para el ajuste fino completo, Llama-3.3-70B-Instruct necesita 131,42 GiB de pesos"
    )
    assert "faltan" in answer.summary or "No cabe" in answer.summary
    assert all(assumption.message for assumption in answer.assumptions)
    assert answer.placements[0].ways_to_fit
    assert all(way.message.startswith(("Con ", "En ")) for way in answer.placements[0].ways_to_fit)
    assert answer.ask_next is not None
    assert answer.ask_next.code is QuestionCode.SEQUENCE_TOKENS


def test_a_bare_size_is_a_rule_of_thumb() -> None:
    """`7B` names no model; the band spans the models of that size."""
    answer = ask("7B", {"method": "qlora"}, ["rtx-4090"])
    total = answer.placements[0].per_gpu.total
    assert total.basis is Basis.RULE_OF_THUMB
    assert total.low_bytes < total.expected_bytes < total.high_bytes
    assert answer.ask_next is not None
    assert answer.ask_next.code is QuestionCode.MODEL


def test_ways_to_fit_can_be_left_out() -> None:
    """`ways_to_fit: false` turns them off."""
    assert ask("llama 3.1 8b", {"method": "full"}, ["rtx-4090"], ways_to_fit=False).placements[0].ways_to_fit == ()


@pytest.mark.parametrize(
    ("workload", "code", "pointer"),
    [
        ({"method": "lora", "lora": {"targets": ["nope"]}}, "lora_target_not_in_model", "/workload/lora/targets/0"),
        ({"method": "full", "weights": "nf4"}, "quantised_weights_not_trainable", "/workload/weights"),
        ({"method": "full", "sharding": "zero3"}, "sharding_on_one_card", "/workload/sharding"),
    ],
)
def test_contradictions_are_refused_where_they_stand(workload: dict[str, Any], code: str, pointer: str) -> None:
    """Each with a pointer into the request."""
    with pytest.raises(Invalid) as caught:
        ask("llama 3.1 8b", workload, ["rtx-4090"])
    assert [(fault.code, fault.pointer) for fault in caught.value.faults] == [(FaultCode(code), pointer)]


def test_steps_and_tokens_follow_from_the_data() -> None:
    """52,000 examples three times over, eight sequences a step on two GPUs."""
    data = {"examples": 52_000, "mean_tokens_per_example": 300, "epochs": 3}
    workload = {"method": "lora", "micro_batch": 4, "packing": False, "data": data}
    schedule = ask("llama 3.1 8b", workload, [{"card": "h100-sxm-80", "count": 2}]).placements[0].schedule
    assert (schedule.sequences_per_step, schedule.steps, schedule.train_tokens) == (8, 19_500, 46_800_000)


SEVENTY_B_OFFLOADED = {"method": "full", "framework": "deepspeed", "offload": ["optimizer", "parameters"]}


def test_too_little_ram_is_said_in_ram() -> None:
    """ZeRO-Offload keeps 16 bytes a parameter in the host: 1,051 GiB for 70B, of which 10^12 bytes lack 120 GiB."""
    short = {"card": "a100-sxm-80", "count": 8, "host_ram_bytes": 10**12}
    answer = ask("llama 3.3 70b", SEVENTY_B_OFFLOADED, [short])
    found = answer.placements[0]
    assert found.verdict is Verdict.DOES_NOT_FIT
    assert (found.max_micro_batch, found.max_sequence_tokens) == (0, 0)
    assert "120.01 GiB of system RAM" in answer.summary
    assert "-" not in answer.summary.partition("A100 SXM4 80GB")[2]
    missing = next(each.params for each in found.notices if each.code is NoticeCode.HOST_RAM_SHORT)
    assert missing["needed_bytes"] == found.host.ram_bytes == pytest.approx(16 * 70_553_706_496, rel=1e-6)
    (way,) = [way for way in found.ways_to_fit if way.changes[0].pointer == "/cards/0/host_ram_bytes"]
    again = ask("llama 3.3 70b", SEVENTY_B_OFFLOADED, [short | {"host_ram_bytes": way.changes[0].value}])
    assert (again.placements[0].verdict, again.placements[0].headroom_bytes) == (way.verdict, way.headroom_bytes)


def test_checkpoints_in_ram_bound_the_batch() -> None:
    """Offloaded checkpoints fill the host as the batch grows: the largest that it holds runs, the next does not."""
    card = {"card": "h200-sxm", "host_ram_bytes": 10**10}
    asked = {"method": "lora", "offload": ["activations"], "fused_loss": True}
    most = ask("llama 3.1 8b", asked, [card]).placements[0].max_micro_batch
    kept = [ask("llama 3.1 8b", asked | {"micro_batch": size}, [card]).placements[0] for size in (most, most + 1)]
    assert [each.verdict is Verdict.DOES_NOT_FIT for each in kept] == [False, True]
    assert kept[1].headroom_bytes > 0


def test_a_state_space_model_has_no_longest_sequence_of_its_own() -> None:
    """Mamba has no positions to run out of: only memory ends a sequence, whatever length was asked about."""
    lengths = {
        ask("mamba 2.8b", {"method": "full", "sequence_tokens": asked}, ["a100-sxm-80"])
        .placements[0]
        .max_sequence_tokens
        for asked in (128, 2048, 100_000)
    }
    assert len(lengths) == 1
    assert lengths.pop() > 4096


def test_whisper_keeps_its_encoder_s_activations() -> None:
    """Korthikanti et al.: 34 bytes × batch × length × width a layer, dropout aside; and cross-attention.

    Whisper large: 32 encoder layers of width 1,280 over 1,500 positions (arXiv 2212.04356), keys and values in 32
    decoder layers.
    """
    asked = {"method": "full", "micro_batch": 16, "gradient_checkpointing": "none"}
    answer = ask("whisper large v3", asked, ["a100-sxm-40"])
    encoder = 16 * 1500 * 1280 * 32 * 33
    crossed = 16 * 1500 * 1280 * 32 * 2 * 2
    decoder = 16 * 448 * 1280 * 32 * 45
    assert answer.need.activations_bytes == pytest.approx(encoder + crossed + decoder, rel=0.1)
    assert answer.placements[0].verdict is Verdict.DOES_NOT_FIT
    assert [each.code for each in answer.notices] == [NoticeCode.ENCODER_COUNTED]


@pytest.mark.parametrize("checkpointing", ["none", "selective", "full"])
def test_whisper_s_largest_batch_is_the_last_that_runs(checkpointing: str) -> None:
    """Every window brings an encoder's activations, so batches end sooner than the decoder's tokens say."""
    asked = {"method": "full", "gradient_checkpointing": checkpointing}
    most = ask("whisper large v3", asked, ["rtx-4090"]).placements[0].max_micro_batch
    kept = [
        ask("whisper large v3", asked | {"micro_batch": size}, ["rtx-4090"]).placements[0] for size in (most, most + 1)
    ]
    assert [each.verdict is Verdict.DOES_NOT_FIT for each in kept] == [False, True]


def test_adapters_reach_the_encoder_too() -> None:
    """PEFT's int8 ASR guide: r = 32 on q_proj and v_proj of whisper-large-v2 are 15,728,640 trainable parameters."""
    asked = {"method": "lora", "lora": {"rank": 32, "targets": ["q_proj", "v_proj"]}}
    assert ask("whisper large v2", asked).need.trainable_parameters == 15_728_640


def test_pictures_are_said_to_be_left_out() -> None:
    """How many pictures a sequence holds is not known, so what their encoder keeps is not counted, and that is said."""
    assert NoticeCode.TOWERS_NOT_COUNTED in {each.code for each in ask("qwen2.5 vl 7b", {"method": "lora"}).notices}


def test_memory_and_schedule_mean_the_same_sequences() -> None:
    """What is assumed of packing is echoed, and asking for it changes neither the memory nor the steps."""
    data = {"examples": 52_000, "mean_tokens_per_example": 300, "epochs": 3}
    asked = {"method": "lora", "micro_batch": 4, "data": data}
    silent = ask("llama 3.1 8b", asked, ["l40s"])
    (packing,) = [each.value for each in silent.assumptions if each.pointer == "/workload/packing"]
    said = ask("llama 3.1 8b", asked | {"packing": packing}, ["l40s"])
    assert said.placements == silent.placements
    assert silent.placements[0].schedule.tokens_per_step == 4 * 2048


def test_examples_that_are_cut_are_named() -> None:
    """Without packing an example longer than the sequence loses its end, which is not to be lost in silence."""
    data = {"examples": 52_000, "mean_tokens_per_example": 3000, "epochs": 3}
    asked = {"method": "lora", "sequence_tokens": 256, "packing": False, "data": data}
    assert NoticeCode.EXAMPLES_CUT in {each.code for each in ask("llama 3.1 8b", asked).notices}


def test_mxfp4_is_widened_before_it_is_trained_over() -> None:
    """Transformers does not train over MXFP4: 20.9 B parameters, fused experts in 16 bits, are 39 GiB."""
    answer = ask("gpt-oss-20b", {"method": "qlora", "framework": "trl"}, ["rtx-4090"])
    assert answer.placements[0].verdict is Verdict.DOES_NOT_FIT
    assert 36 < answer.need.weights_bytes / 2**30 < 40
    assert NoticeCode.EXPERTS_NOT_QUANTISED in {each.code for each in answer.notices}
    assert "/workload/weights" in {each.pointer for each in answer.assumptions}


def test_experts_with_modules_of_their_own_are_a_way_to_fit() -> None:
    """Mixtral's 46.7 B parameters are 24 GB in NF4, where transformers gives each expert a module."""
    ways = ask("mixtral 8x7b", {"method": "qlora"}, ["a100-sxm-80"]).placements[0].ways_to_fit
    assert [("/workload/fused_experts", False)] in [
        [(each.pointer, each.value) for each in way.changes] for way in ways
    ]


def test_a_stated_default_changes_nothing() -> None:
    """Everything that an answer assumes can be stated, and the figures stay."""
    cards = [{"card": "a100-sxm-80", "count": 16}]
    asked = {"method": "qlora", "kernels": "fused", "sharding": "hsdp", "sequence_tokens": 8192}
    silent = ask("llama 3.1 8b", asked, cards)
    filled = {each.pointer.removeprefix("/workload/"): each.value for each in silent.assumptions}
    assert {"fused_loss", "shard_group"} <= filled.keys()
    stated = {name: value for name, value in filled.items() if "/" not in name}
    assert ask("llama 3.1 8b", asked | stated, cards).placements == silent.placements


def test_unsloth_copies_its_model_to_every_gpu() -> None:
    """Unsloth's guide to several GPUs: DDP, a whole copy on each."""
    card = {"card": "rtx-4090", "count": 2}
    assert (
        ask("llama 3.1 8b", {"method": "qlora", "framework": "unsloth"}, [card]).placements[0].sharding is Sharding.DDP
    )


@pytest.mark.parametrize(
    ("card", "precision", "instead"),
    [
        ("a100-sxm-80", "mixed_fp8", ["BF16"]),
        ("h100-sxm-80", "mixed_nvfp4", ["FP8", "BF16"]),
        ("t4", "bf16", ["FP16", "FP32"]),
    ],
)
def test_a_card_is_offered_what_it_can_multiply(card: str, precision: str, instead: list[str]) -> None:
    """Tensor cores take BF16 from Ampere on and FP8 from Ada on."""
    found = ask("llama 3.1 8b", {"method": "lora", "precision": precision}, [card]).placements[0].notices
    assert [each.params["instead"] for each in found if each.code is NoticeCode.PRECISION_NOT_NATIVE] == [instead]
