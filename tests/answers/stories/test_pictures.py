"""The stories of people who make pictures and videos: each asks as they would, and gets a right answer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.cost import CostRequest, cost
from cardmatch.catalogue.world import bundled
from cardmatch.engine.terms.fault import Invalid
from cardmatch.text.language import Language
from tests.answers.stories.asking import DAY, recommended, refused

OVERNIGHT = {"images": 50_000, "deadline_hours": 12}
SDXL = {"kind": "diffusion", "denoise_steps": 30}


def test_fifty_thousand_sdxl_pictures_overnight_end_in_time() -> None:
    """Cards beside each other, each with a pipeline of its own, finish even at the slow end; a thousand cost cents."""
    answer = recommended(model="sdxl", workload=SDXL, job=OVERNIGHT)
    assert answer.options
    for option in answer.options:
        assert option.layout.gpus == 1
        assert option.copies == option.count
        assert option.speed is not None
        assert option.cost is not None
        assert option.cost.hours is not None
        assert 50_000 / option.speed.low_units_per_second <= 12.01 * 3600
        assert option.cost.hours.wall_hours <= 12
        assert option.cost.usd_per_thousand == pytest.approx(option.cost.total.expected_usd / 50)
    assert "per thousand images" in answer.summary
    assert "link_not_needed" in [each.code for each in answer.advice]
    assert answer.ask_next is not None
    assert answer.ask_next.code == "picture_size"


def test_the_question_to_post_to_cost_is_answered_alike() -> None:
    """`cost_request` goes to /cost as it is, and gives the same bill; so does the report of the plan."""
    answer = recommended(model="sdxl", workload=SDXL, job=OVERNIGHT, limit=1)
    first, plan = answer.options[0], answer.verification
    assert first.cost is not None
    assert plan is not None
    for question in (first.cost_request, plan.report):
        raw = msgspec.json.encode(question)
        bill = cost(bundled(), msgspec.json.decode(raw, type=CostRequest), Language.EN, DAY).options[0]
        assert bill.total.expected_usd == pytest.approx(first.cost.total.expected_usd, rel=1e-6)


def test_what_is_not_said_is_assumed_aloud() -> None:
    """A pipeline by its name alone: its workload, its steps, and a question how many."""
    answer = recommended(model="sdxl")
    assumed = {each.pointer: each.value for each in answer.assumptions}
    assert assumed["/workload/kind"] == "diffusion"
    assert assumed["/workload/denoise_steps"] == 50
    assert answer.ask_next is not None
    assert answer.ask_next.code == "pictures"
    assert answer.options[0].cost is not None


def test_flux_at_a_rate_counts_copies_and_waits() -> None:
    """A thousand pictures an hour within a minute each: every option can, with a fifth to spare."""
    answer = recommended(model="flux", load={"images_per_hour": 1000, "p95_latency_seconds": 60})
    assert answer.options
    for option in answer.options:
        assert option.speed is not None
        assert option.speed.capacity_units_per_second * 0.8 >= 1000 / 3600 * 0.999
        assert option.speed.request_seconds is not None
        assert option.speed.request_seconds <= 60


def test_a_latency_that_no_copy_reaches_is_said_with_the_one_that_it_takes() -> None:
    """Four seconds for 50 steps of FLUX: nobody; the nearest card says how long it would take."""
    flux: dict[str, Any] = {"kind": "diffusion", "denoise_steps": 50}
    load = {"images_per_hour": 60, "p95_latency_seconds": 1}
    answer = recommended(model="flux", workload=flux, load=load)
    assert not answer.options
    assert answer.nearest is not None
    assert answer.nearest.change is not None
    assert answer.nearest.change.pointer == "/load/p95_latency_seconds"
    assert float(str(answer.nearest.change.value)) > 1


def test_one_picture_is_not_shared_among_cards() -> None:
    """A deadline shorter than a picture takes is missed by everybody; by a second more, one card will do."""
    answer = recommended(model="sdxl", workload=SDXL, job={"images": 1, "deadline_hours": 1e-5})
    assert not answer.options
    assert answer.nearest is not None
    assert answer.nearest.change is not None
    assert answer.nearest.change.pointer == "/job/deadline_hours"
    late = recommended(model="sdxl", workload=SDXL, job={"images": 1, "deadline_hours": 0.01}).options[0]
    assert late.copies == 1


def test_the_command_loads_what_diffusers_can_load() -> None:
    """Wan's own repository holds another layout; the one for diffusers is named."""
    answer = recommended(model="wan 2.1", job={"images": 10}, limit=1)
    assert "Wan-AI/Wan2.1-T2V-14B-Diffusers" in answer.options[0].command


def test_names_of_pipelines_are_understood_loosely_and_suggested() -> None:
    """Words of a name without a workload, and a misspelling."""
    assert recommended(model="hunyuan video", limit=1).model.id == "tencent/HunyuanVideo"
    assert recommended(model="flux 1 schnell", limit=1).model.id == "black-forest-labs/FLUX.1-schnell"
    with pytest.raises(Invalid) as caught:
        recommended(model="stable difusion xl")
    (fault,) = caught.value.faults
    assert "stabilityai/stable-diffusion-xl-base-1.0" in fault.suggestions


def test_users_who_wait_in_turn_share_a_card() -> None:
    """Eight people who each ask again once they have their picture: one card, and eight times the wait."""
    one = recommended(model="sdxl", load={"concurrency": 1}, constraints={"cards": ["rtx-4090"]}, limit=1).options[0]
    many = recommended(model="sdxl", load={"concurrency": 8}, constraints={"cards": ["rtx-4090"]}, limit=1).options[0]
    assert one.speed is not None
    assert many.speed is not None
    assert many.copies == 1
    assert many.speed.request_seconds == pytest.approx(8 * (one.speed.request_seconds or 0))


def test_flux_on_24_gb_is_quantised_and_says_what() -> None:
    """In 16 bits its 31 GiB do not fit: the option names components and formats, and the command loads them."""
    answer = recommended(model="flux", job={"images": 1000}, constraints={"cards": ["rtx-4090"]}, limit=1)
    first = answer.options[0]
    changed = {each.pointer: each.value for each in first.changes}
    assert changed["/workload/formats/transformer"] == first.weights == "fp8"
    assert "QuantoConfig" in first.command
    assert "accuracy_not_measured" in [each.code for each in first.cautions]


def test_offload_is_an_option_only_where_it_is_allowed() -> None:
    """Without quantisation a 4090 holds FLUX only with components in RAM: refused, named, and then offered."""
    allow = {"weights": ["as_published"]}
    only = {"cards": ["rtx-4090"]}
    answer = recommended(model="flux", job={"images": 1000}, constraints=only, allow=allow)
    assert not answer.options
    assert answer.nearest is not None
    assert answer.nearest.change is not None
    assert answer.nearest.change.pointer == "/allow/offload"
    first = recommended(model="flux", job={"images": 1000}, constraints=only, allow={**allow, "offload": True}).options[
        0
    ]
    assert first.verdict == "tight"
    assert "enable_model_cpu_offload" in first.command
    assert "components_offloaded" in [each.code for each in first.cautions]


def test_cards_that_cannot_multiply_bf16_are_left_out() -> None:
    """FLUX is published in BF16, which Volta and Turing lack."""
    answer = recommended(model="flux", job={"images": 1000})
    lacking = [row.card for row in answer.not_chosen if row.reason.code == "card_lacks_format"]
    assert any(card.startswith("v100") for card in lacking)
    assert not any(option.card.startswith(("v100", "t4")) for option in answer.options)


def test_videos_are_counted_as_items_and_are_less_sure() -> None:
    """Wan 2.1 at 720p: a hundred videos cost dollars each, and the band says that little was measured."""
    answer = recommended(model="wan 2.1", job={"images": 100})
    first = answer.options[0]
    assert first.speed is not None
    assert first.cost is not None
    assert first.speed.unit == "item"
    assert first.speed.basis == "extrapolated"
    assert first.cost.usd_per_unit > 0.1


def test_an_h100_for_a_few_pictures_is_called_dearer_than_needed() -> None:
    """The commonest mistake holds of pictures too: the cheaper card and the saving."""
    answer = recommended(model="sdxl", workload=SDXL, job={"images": 1000}, constraints={"cards": ["h100-sxm-80"]})
    (notice,) = [each for each in answer.advice if each.code == "card_dearer_for_job"]
    assert not str(notice.params["cheaper_card"]).startswith("h100")


def test_tenants_share_slices() -> None:
    """Seven teams with SD 1.5 on MIG slices."""
    answer = recommended(model="sd 1.5", instances=7, constraints={"isolation": "mig"}, limit=3)
    assert answer.options
    for option in answer.options:
        assert option.mig is not None
        assert option.copies == 7
        assert list(option.requires.kubernetes_resource) == [f"nvidia.com/mig-{option.mig}"]


def test_the_question_of_slices_is_answered_alike() -> None:
    """/cost knows no slices that somebody cuts by himself: their rate is stated."""
    answer = recommended(model="sd 1.5", job={"images": 1000}, constraints={"isolation": "mig"}, limit=1)
    first = answer.options[0]
    assert first.cost is not None
    raw = msgspec.json.encode(first.cost_request)
    bill = cost(bundled(), msgspec.json.decode(raw, type=CostRequest), Language.EN, DAY).options[0]
    assert bill.total.expected_usd == pytest.approx(first.cost.total.expected_usd, rel=1e-6)


def test_nobody_waits_for_a_year() -> None:
    """A hundred thousand users of a video that takes an hour: as many copies as serve each within a day."""
    answer = recommended(model="wan 2.1", load={"concurrency": 100_000}, limit=50)
    for option in answer.options:
        assert option.speed is not None
        assert (option.speed.request_seconds or 0) <= 90_000


def test_a_pipeline_of_two_networks_is_ranked_by_price_alone() -> None:
    """Nobody says how the refiner shares the steps: no speed, no bill, and a caution."""
    answer = recommended(model="sdxl refiner", job={"images": 1000}, limit=1)
    first = answer.options[0]
    assert first.speed is None
    assert first.cost is None
    assert "speed_not_predicted" in [each.code for each in first.cautions]


def test_tuning_a_denoiser_is_ranked_by_the_hour() -> None:
    """LoRA of SDXL: what it needs and what the machine costs; how long it takes nobody asked or knows."""
    answer = recommended(model="sdxl", workload={"kind": "diffusion", "task": "lora"}, limit=1)
    first = answer.options[0]
    assert first.diffusion_per_gpu is not None
    assert first.speed is None
    assert "train_text_to_image_lora" in first.command


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"model": "sdxl", "workload": SDXL, "job": {"items": 5, "images": 5}}, "/job"),
        ({"model": "sdxl", "workload": SDXL, "job": {"deadline_hours": 5}}, "/job"),
        ({"model": "sdxl", "workload": SDXL, "job": {"train_tokens": 5}}, "/job/train_tokens"),
        ({"model": "sdxl", "workload": SDXL, "load": {"prompt_tokens": 5, "concurrency": 1}}, "/load/prompt_tokens"),
        ({"model": "sdxl", "workload": SDXL, "load": {"items_per_second": 5}}, "/load/items_per_second"),
        ({"model": "sdxl", "workload": SDXL, "load": {"concurrency": 1, "images_per_hour": 5}}, "/load"),
        ({"model": "sdxl", "workload": SDXL, "load": {"concurrency": 1}, "job": {"images": 5}}, "/load/concurrency"),
        ({"model": "sdxl", "workload": SDXL, "allow": {"weights": ["awq_int4"]}}, "/allow/weights/0"),
        ({"model": "sdxl", "workload": SDXL, "allow": {"kv_cache": ["bf16"]}}, "/allow/kv_cache"),
        ({"model": "sdxl", "workload": {"kind": "diffusion", "task": "lora"}, "job": {"images": 5}}, "/job"),
        ({"model": "sdxl", "workload": {"kind": "diffusion", "frames": 9}}, "/workload/frames"),
        ({"model": "llama 3.1 8b", "workload": SDXL}, "/model"),
        ({"model": "sdxl", "workload": {"kind": "inference"}}, "/model"),
    ],
)
def test_what_does_not_go_with_pictures_is_refused_at_the_field(body: dict[str, Any], pointer: str) -> None:
    """Each contradiction by itself."""
    assert refused(**body) == [pointer]


def test_a_job_of_pictures_is_not_one_of_training() -> None:
    """Adapters for SDXL with a number of pictures to make: the answer names the task that makes them."""
    body = {"model": "sdxl", "workload": {"kind": "diffusion", "task": "lora"}, "job": {"images": 1000}}
    with pytest.raises(Invalid) as wrong:
        recommended(**body)
    (fault,) = wrong.value.faults
    assert (fault.code, fault.pointer, fault.params["tasks"]) == ("field_of_other_task", "/job", ["inference"])
