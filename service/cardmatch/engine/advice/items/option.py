"""A choice as an option of the answer: memory of a copy, speed of all, price, command, and what a machine must have."""

from __future__ import annotations

import msgspec

from cardmatch.engine.advice.answer import RecommendedOption, Requires
from cardmatch.engine.advice.bill import ALWAYS_BUSY, gpus_of, option_of, priced, throughput_of, work_of
from cardmatch.engine.advice.choice import Choice
from cardmatch.engine.advice.describe import HOST_RAM_FLOOR_BYTES, LABEL_LENGTH, offer_used, option_id, resource_of
from cardmatch.engine.advice.items.bench import Bench, Held
from cardmatch.engine.advice.load import Demand
from cardmatch.engine.advice.pace import SpeedBand
from cardmatch.engine.advice.remarks import cautions, reasons
from cardmatch.engine.advice.sizing import Sized, made
from cardmatch.engine.hardware.layout import SINGLE
from cardmatch.engine.money.answer import OptionCost
from cardmatch.engine.money.option import Measured
from cardmatch.engine.money.question import CostQuestion
from cardmatch.engine.speed.throughput import Throughput
from cardmatch.engine.terms.notice import NoticeCode

_TWICE = 2
_MADE_WHILE_LOADING = NoticeCode.QUANTISED_CHECKPOINT_NEEDED
"""Never so of pipelines and encoders: whatever loads them quantises them."""


def option(bench: Bench, choice: Choice, rank: int, considered: int) -> RecommendedOption:
    """*choice* as the option at *rank*, with its reasons and cautions."""
    found, held = choice.tried, bench.trade.held(choice.tried)
    form, size = found.form, found.size or Sized(1, 1.0, None, None, 1)
    throughput = throughput_of(choice, bench.copies.demand)
    question, bill = _bill(bench, choice, rank, throughput)
    month = choice.usd_per_hour * bench.ledger.hours_per_month
    made = RecommendedOption(
        id=option_id(choice),
        rank=rank,
        card=form.card.id,
        count=gpus_of(choice),
        layout=SINGLE,
        mig=form.mig,
        link=None,
        copies=size.copies,
        instances_per_machine=choice.copies_per_machine,
        machines=choice.machines,
        unused_gpus=choice.machines * choice.lot.offer.gpu_count - gpus_of(choice),
        weights=held.format,
        kv_cache=None,
        verdict=held.verdict,
        bound_by=held.bound_by,
        per_gpu=None,
        training_per_gpu=None,
        diffusion_per_gpu=held.diffusion,
        encode_per_gpu=held.encoding,
        changes=found.variant.changes if found.variant else (),
        budget_bytes=held.budget_bytes,
        headroom_bytes=held.headroom_bytes,
        max_concurrency=held.at_once * size.copies,
        speed=_speed(bench.copies.demand, size, throughput),
        offer=offer_used(choice, bench.ledger),
        usd_per_hour=choice.usd_per_hour,
        usd_per_month=month,
        usd_per_instance_per_month=month / bench.copies.demand.tenants,
        cost=bill,
        cost_request=question,
        command=bench.trade.command(found),
        requires=_requires(choice, held),
        reasons=(),
        cautions=(),
    )
    return _remarked(bench, made, choice, held, considered)


def _remarked(bench: Bench, made: RecommendedOption, choice: Choice, held: Held, considered: int) -> RecommendedOption:
    shared = bench.copies
    said = cautions(made, choice, shared.wanted.constraints, shared.presets, bench.shelf.countries)
    kept = [each for each in said if each.code is not _MADE_WHILE_LOADING]
    return msgspec.structs.replace(
        made, reasons=reasons(made, choice, shared.objective, considered), cautions=(*kept, *held.notices)
    )


def _bill(
    bench: Bench, choice: Choice, rank: int, throughput: Throughput | None
) -> tuple[CostQuestion | None, OptionCost | None]:
    """The question for /cost and its answer; nobody can bill what nobody can time."""
    if throughput is None:
        return None, None
    form, demand = choice.tried.form, bench.copies.demand
    label = f"{rank}: {form.card.id} × {gpus_of(choice)}, {choice.lot.offer.provider}"[:LABEL_LENGTH]
    asked = option_of(choice, label, bench.named.reference, bench.trade.workload(choice.tried))
    if form.mig is not None and choice.lot.offer.mig_profile is None:  # /cost knows of no slices cut by oneself
        rate = Measured(units_per_second=throughput.expected_units_per_second, unit=demand.unit)
        asked = msgspec.structs.replace(asked, throughput=rate)
    question = CostQuestion(options=(asked,), work=work_of(demand, bench.ledger.hours_per_month))
    bill = priced(question, throughput, bench.ledger)
    if demand.peak_rate is None and demand.items is None:  # busy all the time by its definition
        bill = msgspec.structs.replace(bill, notices=tuple([n for n in bill.notices if n.code is not ALWAYS_BUSY]))
    return question, bill


def _speed(demand: Demand, size: Sized, throughput: Throughput | None) -> SpeedBand | None:
    now, most = size.now, size.most
    if throughput is None or now is None or most is None:
        return None
    low, expected, high = made(demand, size, now, most)
    return SpeedBand(
        unit=throughput.unit.value,
        low_units_per_second=low,
        expected_units_per_second=expected,
        high_units_per_second=high,
        ttft_seconds=None,
        tpot_seconds=None,
        request_seconds=now.ttft_seconds,
        capacity_units_per_second=most.requests_per_second * size.copies,
        requests_at_once=size.batch * size.copies,
        basis=now.basis,
    )


def _requires(choice: Choice, held: Held) -> Requires:
    """Weights go through RAM on their way in, and lie on the disk as they came and as they are kept."""
    form = choice.tried.form
    return Requires(
        gpu=form.card.name if form.mig is None else f"{form.card.name} ({form.mig})",
        gpus=form.gpus,
        compute_capability=form.card.compute_capability,
        host_ram_bytes=max(HOST_RAM_FLOOR_BYTES, held.host_bytes) + held.weights_bytes,
        disk_bytes=_TWICE * held.weights_bytes,
        kubernetes_resource={resource_of(form): form.gpus},
    )
