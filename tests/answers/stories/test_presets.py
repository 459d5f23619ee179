"""Presets: a reader, a job or a scenario of the guides is named, and answered as if it had been written out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cardmatch.answers.misfit import fitted
from cardmatch.answers.recommend import Recommendation, RecommendRequest
from cardmatch.catalogue.presets import presets
from cardmatch.catalogue.world import bundled
from cardmatch.engine.advice.answer import RecommendedOption
from cardmatch.engine.advice.presets import Preset
from cardmatch.engine.advice.question import JobName, JobOfWork, Profile, Scenario
from cardmatch.engine.terms.fault import Invalid
from tests.answers.stories.asking import recommended, refused

# What each row of the guides speaks of: the sizes that its readers run.
PROFILES = {"solo_developer": "7B", "startup": "13B", "researcher": "llama 3.1 70b", "platform_team": "llama 3.1 70b"}
SERVING = {"serving": "13B", "high_throughput_api": "llama 3.1 8b"}
TRAINING = {"small_fine_tune": "13B", "full_fine_tune": "llama 3.1 8b", "large_training": "llama 3.1 8b"}
ALL: list[Preset] = [*presets().profiles.values(), *presets().jobs.values(), *presets().scenarios.values()]


def _codes(answer: Recommendation) -> list[str]:
    return [notice.code.value for notice in answer.advice]


def _assumed(answer: Recommendation) -> dict[str, Any]:
    return {each.pointer: each.value for each in answer.assumptions}


def _hours(option: RecommendedOption) -> float:
    assert option.cost is not None
    assert option.cost.hours is not None
    return option.cost.hours.wall_hours


def test_every_name_has_a_preset_and_every_card_of_it_is_in_the_catalogue() -> None:
    """Names and data are added together."""
    assert set(presets().profiles) == set(Profile)
    assert set(presets().jobs) == set(JobName)
    assert set(presets().scenarios) == set(Scenario)
    assert {card for preset in ALL for card in preset.cards} <= set(bundled().cards)
    assert all(preset.source and preset.row in {16, 18, 23} for preset in ALL)


@pytest.mark.parametrize(("name", "model"), PROFILES.items())
def test_a_profile_alone_is_a_request(name: str, model: str) -> None:
    """18: options that hold its load at once, what was assumed, the guides' card and when to move up."""
    answer = recommended(model=model, profile=name)
    load = presets().profiles[Profile(name)].sets.load
    assert load is not None
    assert all((option.max_concurrency or 0) >= (load.concurrency or 0) for option in answer.options[:1])
    assert _assumed(answer)["/load/concurrency"] == load.concurrency
    assert {"profile_agrees", "profile_differs"} & set(_codes(answer))
    assert any(code.startswith("move_up_for") for code in _codes(answer))
    assert answer.ask_next is not None
    assert answer.ask_next.pointer == "/load"


@pytest.mark.parametrize(("name", "model"), SERVING.items())
def test_a_job_of_serving_holds_its_requests(name: str, model: str) -> None:
    """16: thousands at once take several copies or a large card, eight users one small card."""
    answer = recommended(model=model, job={"preset": name})
    first, load = answer.options[0], presets().jobs[JobName(name)].sets.load
    assert load is not None
    assert (first.max_concurrency or 0) >= (load.concurrency or 0) * 0.98
    assert (first.count == 1) == (name == "serving")
    assert {"job_agrees", "job_differs"} & set(_codes(answer))


@pytest.mark.parametrize(("name", "model"), TRAINING.items())
def test_a_job_of_training_ends(name: str, model: str) -> None:
    """16: hours and dollars of the run; where hours are long, cards have ECC."""
    answer = recommended(model=model, job={"preset": name})
    first = answer.options[0]
    assert first.command.startswith("trl sft")
    assert 0 < _hours(first) < 24 * 14
    assert answer.ask_next is not None
    assert answer.ask_next.code == "train_tokens"
    if name != "small_fine_tune":
        assert all(bundled().cards[option.card].ecc == "yes" for option in answer.options)


def test_batch_work_takes_the_night_and_a_cheap_card() -> None:
    """16: no latency is asked for, and every option is done by the deadline."""
    answer = recommended(model="llama 3.1 8b", job={"preset": "batch"})
    assert "/load/min_tokens_per_second_per_user" not in _assumed(answer)
    assert all(_hours(option) <= 12 for option in answer.options)
    assert answer.options[0].usd_per_hour < 1


def test_weekly_fine_tunes_cost_a_few_dollars_each() -> None:
    """23: LoRA of a small model overnight, on one card."""
    answer = recommended(model="llama 3.1 8b", scenario="weekly_fine_tunes")
    first = answer.options[0]
    assert first.cost is not None
    assert first.cost.total.expected_usd < 50
    assert _hours(first) <= 12


def test_concurrent_serving_keeps_first_tokens_quick() -> None:
    """23: every option holds 32 users at once and begins to answer within two seconds."""
    answer = recommended(model="qwen3 32b", scenario="concurrent_serving")
    for option in answer.options:
        assert (option.max_concurrency or 0) >= 32
        assert option.speed is not None
        assert option.speed.ttft_seconds is not None
        assert option.speed.ttft_seconds <= 2


def test_training_to_a_deadline_is_done_in_time() -> None:
    """23: cards that would take longer than three days are left out for that."""
    answer = recommended(model="llama 3.1 8b", scenario="training_deadline")
    assert all(_hours(option) <= 72 for option in answer.options)
    late = [row for row in answer.not_chosen if row.reason.params.get("field") == "deadline_hours"]
    assert late


def test_what_a_preset_set_is_explained_with_its_source() -> None:
    """Each field as an assumption, all of them in one notice that names the source and its day."""
    answer = recommended(model="7B", profile="startup")
    (notice,) = [notice for notice in answer.notices if notice.code == "preset_used"]
    assert notice.params["fields"] == [
        "/load/prompt_tokens",
        "/load/output_tokens",
        "/load/concurrency",
    ]
    assert set(notice.params["fields"]) <= _assumed(answer).keys()
    assert str(notice.params["source"]) in notice.message
    assert str(notice.params["as_of"]) in notice.message


def test_what_is_stated_goes_before_a_preset() -> None:
    """One field of a load is stated, the others are the preset's; another way to count requests replaces its own."""
    answer = recommended(model="llama 3.1 8b", job={"preset": "serving"}, load={"requests_per_day": 5000})
    assumed = _assumed(answer)
    assert assumed["/load/prompt_tokens"] == 1000
    assert not {"/load/concurrency", "/load/requests_per_day"} & assumed.keys()


def test_a_job_may_be_told_its_size() -> None:
    """Tokens to train on replace the preset's examples, and nothing is asked about them."""
    answer = recommended(model="llama 3.1 8b", job={"preset": "small_fine_tune", "train_tokens": 1e6})
    assert not {"/job/examples", "/job/epochs"} & _assumed(answer).keys()
    assert answer.ask_next is None


def test_ecc_may_be_declined() -> None:
    """A condition of a preset gives way to `false`."""
    answer = recommended(model="llama 3.1 8b", job={"preset": "full_fine_tune"}, constraints={"ecc": False})
    assert "/constraints/ecc" not in _assumed(answer)


def test_a_preset_is_the_request_that_it_stands_for() -> None:
    """Written out, the same options at the same prices."""
    sets = presets().jobs[JobName.SMALL_FINE_TUNE].sets
    named = recommended(model="llama 3.1 8b", job={"preset": "small_fine_tune"})
    assert isinstance(sets.job, JobOfWork)
    written = recommended(model="llama 3.1 8b", workload=sets.workload, job=sets.job)
    assert msgspec.json.encode(named.options) == msgspec.json.encode(written.options)


def test_the_guides_card_is_priced_where_the_figures_differ() -> None:
    """16: the same request on the card that the guides point to, and on the one that the figures do."""
    answer = recommended(model="llama 3.1 8b", job={"preset": "high_throughput_api"})
    assert not answer.options[0].card.startswith("h100")
    (notice,) = [notice for notice in answer.advice if notice.code == "guides_card_by_month"]
    assert str(notice.params["other"]).startswith("h100")
    assert float(str(notice.params["other_usd_per_month"])) > float(str(notice.params["card_usd_per_month"]))


@pytest.mark.parametrize(
    ("body", "pointer", "meant"),
    [
        ({"profile": "start-up"}, "/profile", "startup"),
        ({"job": {"preset": "small-finetune"}}, "/job/preset", "small_fine_tune"),
        ({"scenario": "weekly_finetune"}, "/scenario", "weekly_fine_tunes"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(body: dict[str, Any], pointer: str, meant: str) -> None:
    """With all names that there are."""
    with pytest.raises(Invalid) as caught:
        fitted({"model": "7B", **body}, RecommendRequest)
    (fault,) = caught.value.faults
    assert fault.pointer == pointer
    assert fault.suggestions[0] == meant
    assert meant in str(fault.params["known"])


def test_a_preset_of_another_workload_is_refused() -> None:
    """Fine-tuning is no inference, and two presets may not contradict each other."""
    assert refused(model="7B", job={"preset": "small_fine_tune"}, workload={"kind": "inference"}) == ["/job/preset"]
    assert refused(model="7B", job={"preset": "batch"}, scenario="weekly_fine_tunes") == ["/job/preset"]


def test_lengths_that_a_load_leaves_out_are_a_chat_turns() -> None:
    """Requests per day are enough; the lengths are assumed, within what the model reads."""
    answer = recommended(model="llama 3.1 8b", load={"requests_per_day": 10_000})
    assert _assumed(answer)["/load/prompt_tokens"] == 1000
    assert _assumed(answer)["/load/output_tokens"] == 300


def test_batch_work_may_be_pictures_or_embeddings() -> None:
    """Pictures for a pipeline, texts for an encoder; each by the deadline."""
    pictures = recommended(model="sdxl", job={"preset": "batch"})
    assert _assumed(pictures)["/job/images"] == 50_000
    assert "/job/items" not in _assumed(pictures)
    texts = recommended(model="BAAI/bge-m3", job={"preset": "batch"})
    assert _assumed(texts)["/job/items"] == 100_000
    assert all(_hours(option) <= 12 for answer in (pictures, texts) for option in answer.options)


def test_a_profile_of_a_pipeline_leaves_words_out() -> None:
    """A solo developer's SDXL: no prompt and answer of a chat is filled in."""
    answer = recommended(model="sdxl", profile="solo_developer")
    assert _assumed(answer)["/load/images_per_hour"] == 60
    assert answer.options[0].usd_per_hour < 1
    assert not any(pointer.startswith("/load/") and "tokens" in pointer for pointer in _assumed(answer))


def _places(body: dict[str, Any]) -> list[str]:
    """Where *body* is wrong; nowhere, if it is answered."""
    try:
        recommended(**body)
    except Invalid as invalid:
        return [fault.pointer for fault in invalid.faults]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("model", ["llama 3.1 8b", "sdxl", "BAAI/bge-m3"])
def test_every_combination_is_answered_or_refused(model: str) -> None:
    """A profile, a job and a scenario at once: what does not go together is a fault at one of the three."""
    for profile in (None, *Profile):
        for job in (None, *JobName):
            for scenario in (None, *Scenario):
                asked = {"profile": profile, "job": {"preset": job} if job else None, "scenario": scenario}
                body = {"model": model, **{name: value for name, value in asked.items() if value}, "limit": 1}
                assert set(_places(body)) <= {"/job/preset", "/scenario", "/profile"}, body
