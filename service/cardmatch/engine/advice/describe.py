"""A choice as an option of the answer: memory at the load, speed, price, command, and what the machine must have."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.advice.answer import OfferUsed, RecommendedOption, Requires
from cardmatch.engine.advice.bill import ALWAYS_BUSY, Ledger, gpus_of, priced, question_of, throughput_of
from cardmatch.engine.advice.candidates import Form, engine_name
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.command import command
from cardmatch.engine.advice.pace import SpeedBand
from cardmatch.engine.advice.sizing import Sized, made, request_seconds
from cardmatch.engine.advice.trying import Tried, Trying, estimate
from cardmatch.engine.hardware.card import Card, Vendor
from cardmatch.engine.memory.answer import PlacementEstimate
from cardmatch.engine.memory.engines.registry import AnyEngine
from cardmatch.engine.models.kv_formats import KvCache, KvFormat
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.provider import IdentityCheck
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.speed.throughput import Throughput
from cardmatch.engine.terms.units import GIB

HOST_RAM_FLOOR_BYTES = 8 * GIB
"""Python, the engine and its caches beside the weights; vLLM and SGLang read a checkpoint through the page cache."""

_RESOURCES = {Vendor.NVIDIA: "nvidia.com/gpu", Vendor.AMD: "amd.com/gpu", Vendor.INTEL: "gpu.intel.com/i915"}
LABEL_LENGTH = 80
_TYPED = frozenset({"vllm", "sglang"})


class Named(NamedTuple):
    """How the request names its model, on the wire and on a command line."""

    reference: str | dict[str, Any]
    command_name: str


def described(shared: Trying, choice: Choice, rank: int, model: Named, ledger: Ledger) -> RecommendedOption:
    """*choice* as the option at *rank*, without reasons and cautions."""
    found = choice.tried
    job = found.job or shared.job
    form, size = found.form, found.size or Sized(1, 1.0, None, None, 1)
    placed, _ = estimate(shared, found)
    label = f"{rank}: {form.card.id} × {gpus_of(choice)}, {choice.lot.offer.provider}"[:LABEL_LENGTH]
    throughput = throughput_of(choice, shared.demand)
    question = bill = None
    if throughput is not None:
        question, bill = _bill(shared, choice, label, model, ledger, throughput)
    month, batch = choice.usd_per_hour * ledger.hours_per_month, max(1, math.ceil(size.batch))
    return RecommendedOption(
        id=option_id(choice),
        rank=rank,
        card=form.card.id,
        count=gpus_of(choice),
        layout=found.placement.layout,
        mig=form.mig,
        link=form.link,
        copies=size.copies,
        instances_per_machine=choice.copies_per_machine,
        machines=choice.machines,
        unused_gpus=choice.machines * choice.lot.offer.gpu_count - gpus_of(choice),
        weights=_as_computed(job.checkpoint.format, form.card),
        kv_cache=_as_computed(cache_name(job.kv_cache), form.card),
        verdict=placed.verdict,
        bound_by=placed.bound_by,
        per_gpu=placed.per_gpu,
        training_per_gpu=None,
        budget_bytes=placed.budget_bytes,
        headroom_bytes=placed.headroom_bytes,
        max_concurrency=placed.max_concurrency * size.copies,
        speed=speed_of(shared, size, throughput),
        offer=offer_used(choice, ledger),
        usd_per_hour=choice.usd_per_hour,
        usd_per_month=month,
        usd_per_instance_per_month=month / shared.demand.tenants,
        cost=bill,
        cost_request=question,
        command=_command(shared, found, model.command_name, batch),
        requires=_requires(choice, placed, job.sums.total),
        reasons=(),
        cautions=(),
    )


def _command(shared: Trying, found: Tried, name: str, batch: int) -> str:
    """What starts a copy, with the engine's options for what lies in RAM."""
    engine, job = found.spill.engine if found.spill else shared.engine, found.job or shared.job
    published = shared.job.checkpoint.format
    said = command(name, engine, job, found.placement, found.form.weights, batch, published)
    sixteen = without_bf16(found.form.card) and engine_name(engine) in _TYPED and " --dtype " not in said
    return f"{said} --dtype float16" if sixteen else said


def without_bf16(card: Card) -> bool:
    """Whether *card* computes in FP16 what is published in BF16: vLLM and SGLang refuse BF16 below capability 8.0."""
    return card.vendor is Vendor.NVIDIA and card.dense.bf16_tflops is None


def _as_computed(name: str, card: Card) -> str:
    return "fp16" if name == "bf16" and without_bf16(card) else name


def _bill(
    shared: Trying, choice: Choice, label: str, model: Named, ledger: Ledger, throughput: Throughput
) -> tuple[CostQuestion, OptionCost]:
    """The question for /cost, and its answer at the rate that the search found."""
    workload = _workload(shared, choice)
    question = question_of(choice, label, shared.demand, model.reference, workload, ledger.hours_per_month)
    bill = priced(question, throughput, ledger)
    if shared.demand.concurrency is not None:  # busy all the time by its definition
        bill = msgspec.structs.replace(bill, notices=tuple([n for n in bill.notices if n.code is not ALWAYS_BUSY]))
    return question, bill


def option_id(choice: Choice) -> str:
    """Names the form, the formats and the offer: the same in every answer."""
    form, size = choice.tried.form, choice.tried.size
    device = form.card.id if form.mig is None else f"{form.card.id}:{form.mig}"
    copies = size.copies if size else 1
    return f"{copies}x{form.gpus}x{device}/{form.weights}/{choice.cache.value}/{choice.lot.offer.id}"


def cache_name(cache: KvCache) -> str:
    """The cache's format, or those of keys and values."""
    return cache.value if isinstance(cache, KvFormat) else f"{cache.k.value}+{cache.v.value}"


def _workload(shared: Trying, choice: Choice) -> dict[str, Any]:
    """The workload in the option's formats, with the requests that all copies hold at once where they do their most."""
    job, size = choice.tried.job or shared.job, choice.tried.size or Sized(1, 1.0, None, None, 1)
    loaded = shared.demand.concurrency is not None
    at_once = round(size.batch * size.copies) if loaded else size.most_at_once * size.copies
    engine = choice.tried.spill.engine if choice.tried.spill else shared.engine
    found: dict[str, Any] = {
        "kind": "inference",
        "engine": _stated(engine),
        "context_tokens": job.context_tokens,
        "concurrency": max(1, at_once),
        "mean_tokens_per_request": job.mean_tokens,
    }
    if choice.tried.form.weights != "as_published":
        found["weights"] = choice.tried.form.weights
    if choice.cache is not KvFormat.AUTO:
        found["kv_cache"] = choice.cache.value
    return found


def _stated(engine: AnyEngine) -> dict[str, Any]:
    """The options of *engine* that are not at their defaults, as a request states them."""
    usual, said = msgspec.to_builtins(type(engine)()), msgspec.to_builtins(engine)
    return {name: value for name, value in said.items() if name == "kind" or value != usual[name]}


def speed_of(shared: Trying, size: Sized, throughput: Throughput | None) -> SpeedBand | None:
    """The speed at the load, with the most that meets its limits."""
    now, most = size.now, size.most
    if throughput is None or now is None or most is None:
        return None
    low, expected, high = made(shared.demand, size, now, most)
    return SpeedBand(
        unit=throughput.unit.value,
        low_units_per_second=low,
        expected_units_per_second=expected,
        high_units_per_second=high,
        ttft_seconds=now.ttft_seconds,
        tpot_seconds=now.tpot_seconds,
        request_seconds=request_seconds(now, shared.demand.output_tokens),
        request_p95_seconds=now.request_p95_seconds or None,
        capacity_units_per_second=most.requests_per_second * size.copies,
        requests_at_once=size.batch * size.copies,
        basis=now.basis,
    )


def offer_used(choice: Choice, ledger: Ledger) -> OfferUsed:
    """The offer of *choice* with what its provider says of places."""
    lot, offer = choice.lot, choice.lot.offer
    provider = ledger.providers.get(offer.provider)
    return OfferUsed(
        id=offer.id,
        provider=offer.provider,
        instance_type=offer.instance_type,
        gpu_count=offer.gpu_count,
        usd_per_hour=lot.usd_per_hour,
        spot=lot.spot,
        price_kind=offer.price_kind,
        as_of=offer.as_of,
        source=offer.source,
        server_country=offer.server_country,
        company_country=provider.company_country if provider else None,
        stock=lot.stock,
        identity_check=provider.identity_check if provider else IdentityCheck.UNKNOWN,
        billing=provider.billing if provider else None,
        payment_methods=provider.payment_methods if provider else None,
        bandwidth=provider.bandwidth if provider else None,
    )


def _requires(choice: Choice, placed: PlacementEstimate, weights_bytes: int) -> Requires:
    form = choice.tried.form
    return Requires(
        machines=form.nodes,
        gpu=form.card.name if form.mig is None else f"{form.card.name} ({form.mig})",
        gpus=form.gpus // form.nodes,
        compute_capability=form.card.compute_capability,
        host_ram_bytes=HOST_RAM_FLOOR_BYTES + placed.host.ram_bytes // form.nodes + weights_bytes,
        disk_bytes=2 * weights_bytes,
        kubernetes_resource={resource_of(form): form.gpus // form.nodes},
    )


def resource_of(form: Form) -> str:
    """What a pod asks for: GPUs of the vendor, or slices."""
    if form.mig is not None:
        return f"nvidia.com/mig-{form.mig}"
    return _RESOURCES.get(form.card.vendor, "google.com/tpu")
