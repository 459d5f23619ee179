"""What a copy may take beyond one machine's GPUs: other machines, the machine's RAM, machines that may stop; queues."""

from __future__ import annotations

import pytest

from tests.answers.stories.asking import recommended

LENGTHS = {"prompt_tokens": 1000, "output_tokens": 300}


def codes(notices: object) -> list[str]:
    """The codes of *notices*, in order."""
    return [each.code.value for each in notices]  # type: ignore[attr-defined]


def test_405b_in_16_bits_spans_machines_only_where_asked() -> None:
    """756 GiB of weights exceed eight 80 GB cards: nothing by default, two whole machines where that is allowed."""
    asked = {"model": "llama 3.1 405b", "load": {**LENGTHS, "concurrency": 8}, "allow": {"weights": ["bf16"]}}
    asked["constraints"] = {"cards": ["h100-sxm-80"]}
    alone = recommended(**asked)
    assert alone.options == ()
    assert alone.nearest is not None
    assert [(each.pointer, each.value) for each in alone.nearest.changes] == [("/allow/weights", None)]
    first = recommended(**asked, nodes=4).options[0]
    assert (first.machines, first.count, first.unused_gpus) == (2, 16, 0)
    assert (first.layout.tensor, first.layout.pipeline) == (8, 2)
    assert (first.requires.machines, first.requires.gpus) == (2, 8)
    assert first.requires.kubernetes_resource == {"nvidia.com/gpu": 8}
    assert "--tensor-parallel-size 8 --pipeline-parallel-size 2" in first.command
    assert "ray start --address" in first.command
    assert first.command.index("ray start --head") < first.command.index("ray start --address")
    assert first.usd_per_hour == pytest.approx(2 * first.offer.usd_per_hour)
    assert "network_assumed" in codes(first.cautions)


def test_sglang_and_tensorrt_llm_span_machines_in_their_own_way() -> None:
    """Each engine's own launcher; llama.cpp's kin serve a model from one machine."""
    for engine, word in (("sglang", "--nnodes 2 --node-rank"), ("tensorrt_llm", "mpirun -n 16"), ("llama_cpp", "")):
        answer = recommended(
            model="llama 3.1 405b",
            workload={"kind": "inference", "engine": {"kind": engine}},
            load={**LENGTHS, "concurrency": 4},
            nodes=2,
            allow={"weights": ["bf16"]},
            constraints={"cards": ["h100-sxm-80"]},
        )
        assert [word in option.command for option in answer.options[:1]] == ([True] if word else [])


def test_a_training_run_too_large_for_a_machine_goes_side_by_side() -> None:
    """70B in full needs more than eight 80 GB cards; the launcher names every machine."""
    asked = {"model": "llama 3.1 70b", "workload": {"kind": "training", "method": "full"}}
    limits = {"cards": ["h100-sxm-80"]}
    assert recommended(**asked, job={"train_tokens": 1e8}, constraints=limits).options == ()
    first = recommended(**asked, job={"train_tokens": 1e8}, constraints=limits, nodes=4).options[0]
    assert first.machines > 1
    assert f"--num_machines {first.machines}" in first.command
    assert first.requires.gpus * first.machines == first.count


def test_weights_lie_in_ram_only_where_allowed() -> None:
    """70B on one 24 GB card: left out, unless offloading is allowed; then with its notice, RAM and command."""
    asked = {
        "model": "llama 3.1 70b",
        "workload": {"kind": "inference", "engine": {"kind": "llama_cpp"}},
        "load": {**LENGTHS, "concurrency": 1, "min_tokens_per_second_per_user": 0.3},
        "constraints": {"cards": ["rtx-4090"], "max_gpus": 1},
    }
    assert recommended(**asked).options == ()
    first = recommended(**asked, allow={"offload": True}).options[0]
    (said,) = [each for each in first.cautions if each.code == "offload"]
    assert first.verdict == "tight"
    assert first.weights.startswith("gguf:Q4")  # the least that stays in RAM at the same price
    assert first.requires.host_ram_bytes > int(str(said.params["offloaded_bytes"]))
    assert " -ngl " in first.command
    assert first.speed is not None
    assert first.speed.basis == "rule_of_thumb"
    whole = recommended(**{**asked, "constraints": {"cards": ["h200-sxm"]}}).options[0].speed
    assert whole is not None
    assert (first.speed.tpot_seconds or 0) > 3 * (whole.tpot_seconds or 0)


def test_what_fits_is_not_put_into_ram() -> None:
    """Offloading allowed changes nothing where everything fits."""
    load = {**LENGTHS, "concurrency": 4}
    plain, allowed = (recommended(model="7B", load=load, allow={"offload": flag}) for flag in (False, True))
    assert plain.options[0].id == allowed.options[0].id
    assert "offload" not in codes(allowed.options[0].cautions)


def test_interruptions_enter_the_bill_of_spot_machines() -> None:
    """A job on machines that stop twice a day takes longer and costs more than on ones that never do."""
    asked = {"model": "llama 3.1 8b", "load": LENGTHS, "job": {"items": 5_000_000}, "allow": {"spot": True}}
    asked["constraints"] = {"cards": ["h100-sxm-80"]}
    calm = recommended(**asked)
    stops = {"interruptions_per_hour": 0.1, "checkpoint_seconds": 60, "restart_seconds": 600}
    rough = recommended(**asked, spot=stops)
    (before,) = [option for option in calm.options if option.offer.spot][:1]
    (after,) = [option for option in rough.options if option.id == before.id]
    assert "spot_may_stop" in codes(before.cautions)
    assert "spot_may_stop" not in codes(after.cautions)
    assert before.cost is not None
    assert after.cost is not None
    assert before.cost.hours is not None
    assert after.cost.hours is not None
    assert after.cost.hours.interruption_hours > before.cost.hours.interruption_hours == 0
    assert after.cost.total.expected_usd > before.cost.total.expected_usd


def test_a_target_for_slow_requests_takes_more_copies_than_the_mean() -> None:
    """Nineteen in twenty within the target: the tighter it is, the more machines, and the answer says the p95."""
    dollars = []
    for target in (60.0, 12.0, 9.0):
        load = {**LENGTHS, "requests_per_second": 20, "p95_latency_seconds": target}
        limits = {"cards": ["l40s"]}
        allow = {"weights": ["bf16"]}
        first = recommended(model="llama 3.1 8b", load=load, constraints=limits, allow=allow).options[0]
        assert first.speed is not None
        assert first.speed.request_p95_seconds is not None
        assert (first.speed.request_seconds or 0) < first.speed.request_p95_seconds <= target
        dollars.append(first.usd_per_hour)
    assert dollars == sorted(dollars)
    assert dollars[0] < dollars[-1]
