"""The stories of people who train: each asks as they would, and gets an answer of the right shape."""

from __future__ import annotations

import msgspec
import pytest

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.work import Job
from cardmatch.text.language import Language
from tests.answers.stories.asking import DAY, recommended, refused

WEEKLY_LORA = {"examples": 20_000, "mean_tokens_per_example": 500}


def test_a_weekly_lora_of_8b_takes_one_card_and_a_few_dollars() -> None:
    """The guides: one 4090-class card does it; the answer gives hours, dollars and the command."""
    answer = recommended(model="llama 3.1 8b", workload={"kind": "training", "method": "lora"}, job=WEEKLY_LORA)
    first = answer.options[0]
    assert first.count == 1
    assert first.cost is not None
    assert first.cost.total.expected_usd < 10
    assert first.training_per_gpu is not None
    assert "--use_peft" in first.command
    assert "link_not_needed" in [each.code for each in answer.advice]


def test_13b_qlora_in_two_days_under_100_dollars_inside_the_eu() -> None:
    """50,000 examples three times: every option ends in time, costs less, and stands in the EU."""
    answer = recommended(
        model="13B",
        workload={"kind": "training", "method": "qlora"},
        job={"examples": 50_000, "mean_tokens_per_example": 400, "epochs": 3, "deadline_hours": 48},
        constraints={"max_usd_total": 100, "server_countries": ["eu"]},
    )
    assert answer.options
    countries = bundled().countries
    for option in answer.options:
        assert option.cost is not None
        assert option.cost.hours is not None
        assert option.cost.hours.wall_hours <= 48
        assert option.cost.total.expected_usd <= 100
        assert option.offer.server_country is None or countries[option.offer.server_country].eu
    assert "keep_checkpoints_safe" in [each.code for each in answer.advice]


def test_what_takes_too_long_says_how_long() -> None:
    """With two hours instead, the cards that are too slow name the hours that they need."""
    answer = recommended(
        model="13B",
        workload={"kind": "training", "method": "qlora"},
        job={"train_tokens": 60_000_000, "deadline_hours": 2},
    )
    late = [row for row in answer.not_chosen if row.change and row.change.pointer == "/job/deadline_hours"]
    assert late
    assert all(float(str(row.change.value)) > 2 for row in late if row.change)


def test_a_full_fine_tune_of_7b_does_not_fit_small_cards() -> None:
    """16 bytes a parameter: 24 GB cards are left out by themselves, and say what is missing."""
    answer = recommended(
        model="7B",
        workload={"kind": "training", "method": "full"},
        job={"train_tokens": 50_000_000},
        constraints={"max_gpus": 1},
    )
    (row,) = [row for row in answer.not_chosen if row.card == "rtx-4090"]
    assert row.reason.code == "job_does_not_fit_card"
    assert all(option.budget_bytes > 70 << 30 for option in answer.options)


def test_pre_training_says_the_odds_of_a_stop() -> None:
    """Days on many GPUs: NVLink and ECC as asked, and the odds of an interruption."""
    answer = recommended(
        model="llama 3.1 8b",
        workload={"kind": "training", "method": "full"},
        job={"train_tokens": 10_000_000_000},
        constraints={"link": "nvlink", "ecc": True},
        limit=1,
    )
    (odds,) = [each for each in answer.advice if each.code == "long_run"]
    assert 0 < float(str(odds.params["failure_percent"])) < 100
    assert answer.options[0].card not in {"rtx-4090", "rtx-5090"}


def test_without_a_job_the_answer_asks_for_it() -> None:
    """How much is trained on decides what it costs."""
    answer = recommended(model="llama 3.1 8b", workload={"kind": "training", "method": "lora"})
    assert answer.ask_next is not None
    assert answer.ask_next.code == "train_tokens"


def test_the_question_to_post_to_cost_is_answered_alike() -> None:
    """`cost_request` goes to /cost as it is, and gives the same bill."""
    answer = recommended(
        model="llama 3.1 8b", workload={"kind": "training", "method": "lora"}, job=WEEKLY_LORA, limit=1
    )
    first = answer.options[0]
    raw = msgspec.json.encode(first.cost_request)
    bill = cost(bundled(), msgspec.json.decode(raw, type=CostRequest), Language.EN, DAY).options[0]
    assert first.cost is not None
    assert isinstance(msgspec.json.decode(raw, type=CostRequest).work, Job)
    assert bill.total.expected_usd == pytest.approx(first.cost.total.expected_usd, rel=1e-6)


def test_pictures_and_loads_are_no_training() -> None:
    """What does not go together is refused at the field."""
    work = {"kind": "training", "method": "lora"}
    assert refused(model="7B", workload=work, job={"images": 50_000}) == ["/job/images"]
    load = {"prompt_tokens": 1, "output_tokens": 1, "concurrency": 1}
    assert refused(model="7B", workload=work, load=load) == ["/load"]
    assert refused(model="7B", job={"images": 50_000}) == ["/job/images"]


def test_amounts_beyond_all_reckoning_are_refused_and_specks_are_one_token() -> None:
    """What /cost would not take is neither returned for it nor answered."""
    work = {"kind": "training", "method": "full"}
    huge = {"examples": 10**11, "mean_tokens_per_example": 10**9, "epochs": 10_000}
    assert refused(model="7B", workload=work, job=huge) == ["/job"]
    speck = {"examples": 1, "mean_tokens_per_example": 1, "epochs": 5e-324}
    question = recommended(model="7B", workload={**work, "data": speck}, limit=1).options[0].cost_request
    assert question is not None
    assert isinstance(question.work, Job)
    assert question.work.units == 1


def test_cards_without_bf16_train_in_fp16_only() -> None:
    """Turing and Volta have no BF16 arithmetic, so that libraries refuse it there; in FP16 they are back."""
    old = {"rtx-8000", "v100-pcie-32"}
    asked = {"model": "llama 3.1 8b", "job": {"train_tokens": 1e8}, "constraints": {"cards": sorted(old)}}
    refused_there = recommended(**asked, workload={"kind": "training", "method": "lora"})
    assert not refused_there.options
    reasons = {row.card: row for row in refused_there.not_chosen}
    for card in old:
        assert reasons[card].reason.code == "trains_without_bf16"
        change = reasons[card].change
        assert change is not None
        assert (change.pointer, change.value) == ("/workload/precision", "fp16")
    changed = recommended(**asked, workload={"kind": "training", "method": "lora", "precision": "fp16"})
    assert "--fp16" in changed.options[0].command


def test_the_command_states_what_the_answer_assumes() -> None:
    """A dataset to fill in, packing, 16-bit weights, flash attention, passes, the optimizer; no word is left out."""
    answer = recommended(
        model="7B",
        workload={"kind": "training", "method": "full"},
        job={"examples": 50_000, "mean_tokens_per_example": 400, "epochs": 3},
        constraints={"cards": ["B200"]},
        limit=1,
    )
    command = answer.options[0].command
    for words in ("--dataset_name $DATASET", "--packing", "--dtype bfloat16", "flash-attn2", "--num_train_epochs 3"):
        assert words in command
    assert "--optim adamw_torch_fused" in command
    assert "command_lacks_settings" not in [each.code for each in answer.options[0].cautions]


def test_the_command_of_several_gpus_shards_in_16_bits() -> None:
    """FSDP under autocast would widen the weights to 32 bits (accelerate); tokens become steps of all GPUs."""
    answer = recommended(
        model="llama 3.1 8b",
        workload={"kind": "training", "method": "full"},
        job={"train_tokens": 1_000_000_000},
        constraints={"cards": ["a100-sxm-40"]},
        limit=1,
    )
    first = answer.options[0]
    assert first.count > 1
    for words in ("--accelerate_config fsdp2", f"--num_processes {first.count}", "--mixed_precision no"):
        assert words in first.command
    steps = int(first.command.split("--max_steps ")[1].split()[0])
    accumulated = int(first.command.split("--gradient_accumulation_steps ")[1].split()[0])
    assert steps == -(-1_000_000_000 // (2048 * accumulated * first.count))


def test_what_trl_cannot_state_is_said() -> None:
    """Another framework's habits and an optimizer in the backward pass are named beside the command."""
    answer = recommended(
        model="7B",
        workload={"kind": "training", "method": "full", "framework": "torchtune", "optimizer_in_backward": True},
        job={"train_tokens": 1_000_000},
        limit=1,
    )
    (said,) = [each for each in answer.options[0].cautions if each.code == "command_lacks_settings"]
    assert said.params["settings"] == ["framework", "optimizer_in_backward"]
    assert "framework" in said.message


def test_training_side_by_side_speaks_of_gradients_not_of_tensor_parallelism() -> None:
    """Two cards of one machine send gradients over PCIe; machines with one card each, nothing inside."""
    body = {"model": "13B", "workload": {"kind": "training", "method": "qlora"}, "job": {"train_tokens": 60_000_000}}
    said = {}
    for nodes in (1, 2):
        constraints = {"cards": ["rtx-4090"], "max_gpus": 2}
        answer = recommended(**body, constraints=constraints, nodes=nodes, limit=20)
        for option in answer.options:
            said[option.count, option.requires.machines] = {each.code for each in option.cautions}
    assert all("no_fast_link" not in codes for codes in said.values())
    assert "gradients_over_pcie" in said[2, 1]
    assert all("gradients_over_pcie" not in codes for (count, machines), codes in said.items() if count == machines)
