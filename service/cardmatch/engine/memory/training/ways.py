"""Ways to fit: changes of each sort that make a training job run, and what it then is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.answer import Change, WayToFit
from cardmatch.engine.memory.elsewhere import elsewhere
from cardmatch.engine.memory.host_ram import more_host_ram
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.memory.training.frameworks import CrossEntropy
from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import mesh
from cardmatch.engine.memory.training.placed import verdict
from cardmatch.engine.memory.training.recipes import OPTIMIZERS, OptimizerName
from cardmatch.engine.memory.training.settle import BITSANDBYTES
from cardmatch.engine.memory.training.trials import Trials, attempted, changed
from cardmatch.engine.memory.training.tried import PROCESS, band_of
from cardmatch.engine.memory.training.workload import Checkpointing, Method, Offload, Sharding
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.fault import Invalid

GOOD = frozenset({Verdict.COMFORTABLE, Verdict.FITS})
CARDS = (2, 4, 8, 16, 32, 64, 128)
"""How many cards machines and clusters of them are rented with."""
SHORTEST = 256

Fields = dict[str, Any]
_EIGHT_BIT: Fields = {"optimizer": OptimizerName.ADAMW_8BIT}
_RECOMPUTE: Fields = {"gradient_checkpointing": Checkpointing.FULL}
_FUSED: Fields = {"fused_loss": True}


class Way(NamedTuple):
    """Fields of the workload to change, and where the job then runs."""

    fields: Fields
    where: Placement
    cards: tuple[Change, ...] = ()

    @property
    def offloads(self) -> bool:
        """Whether host memory is what makes it run, which is tight at best."""
        return "offload" in self.fields or any(each.pointer.endswith("/host_ram_bytes") for each in self.cards)


def ways_to_fit(
    shared: Trials, placement: Placement, index: int, alternatives: tuple[Placement, ...], *, shrinks: bool
) -> tuple[WayToFit, ...]:
    """One way of each sort that makes the job fit or comfortable; offload, which is tight at best, if it runs.

    *shrinks* says that a smaller micro-batch or a shorter sequence can help at all.
    """
    sorts = _sorts(shared, placement, index, alternatives, shrinks=shrinks)
    found = tuple([way for way in (_first(shared, sort) for sort in sorts) if way is not None])
    if found:
        return found
    last = _first(shared, _everything(shared.job, placement, index))
    return () if last is None else (last,)


def _first(shared: Trials, sort: Iterator[Way]) -> WayToFit | None:
    """The first way of a sort that makes the job run."""
    for way in sort:
        try:
            job = changed(shared, way.fields) if way.fields else shared.job
            on = mesh(job.workload, job.default_sharding, way.where)
        except Invalid:  # what else the request says rules this change out
            continue
        if _hopeless(job, way.where):
            continue
        tried = attempted(shared, job, on)
        judged = verdict(tried, band_of(tried, PROCESS, shared.calibration), way.where)
        if judged.verdict in GOOD or (judged.verdict is Verdict.TIGHT and way.offloads):
            changes = tuple([_change(name, value) for name, value in way.fields.items()]) + way.cards
            headroom = judged.budget - judged.expected
            return WayToFit(changes=changes, verdict=judged.verdict, headroom_bytes=headroom)
    return None


def _hopeless(job: TrainingJob, where: Placement) -> bool:
    """Whether not even the weights fit, were they shared by all of the GPUs."""
    if {Offload.PARAMETERS, Offload.OPTIMIZER} & job.offload:
        return False
    return job.least_bytes > where.count * (where.device.memory_bytes - where.occupied_bytes)


def _change(name: str, value: Any) -> Change:
    if name == "offload":
        return Change(pointer=f"/workload/offload/{len(value) - 1}", value=value[-1].value)
    return Change(pointer=f"/workload/{name}", value=getattr(value, "value", value))


def _sorts(
    shared: Trials, placement: Placement, index: int, alternatives: tuple[Placement, ...], *, shrinks: bool
) -> Iterator[Iterator[Way]]:
    """From what costs least to what costs most: memory of the machine, time, quality, money, speed."""
    job = shared.job
    yield _more_ram(shared, placement, index)
    yield (Way(fields, placement) for fields in _activations(job))
    yield (Way(fields, placement) for fields in _experts(job))
    yield (Way(fields, placement) for fields in _optimizers(job))
    if shrinks:
        yield (Way(fields, placement) for fields in _smaller(job))
        yield (Way(fields, placement) for fields in _shorter(job))
    yield (Way(fields, placement) for fields in _method(job, Method.LORA))
    yield _quantised(job, placement, index)
    yield _more_cards(job, placement, index)
    yield (Way({}, where, changes) for where, changes in elsewhere(placement, index, alternatives))
    yield (Way(fields, placement) for fields in _offloads(job))


def _more_ram(shared: Trials, placement: Placement, index: int) -> Iterator[Way]:
    """A machine with memory enough for what is offloaded."""
    if placement.host_ram_bytes is None:
        return
    tried = attempted(shared, shared.job, mesh(shared.job.workload, shared.job.default_sharding, placement))
    host = verdict(tried, band_of(tried, PROCESS, shared.calibration), placement).host
    for where, cards in more_host_ram(placement, index, host):
        yield Way({}, where, cards)


def _lean(job: TrainingJob) -> Fields:
    """Recomputation and a fused loss, as far as the job does without."""
    fields: Fields = {}
    if job.checkpointing is not Checkpointing.FULL:
        fields |= _RECOMPUTE
    if job.cross_entropy is CrossEntropy.EAGER:
        fields |= _FUSED
    return fields


def _activations(job: TrainingJob) -> Iterator[Fields]:
    lean = _lean(job)
    for name, value in lean.items():
        yield {name: value}
    if len(lean) > 1:
        yield lean


def _experts(job: TrainingJob) -> Iterator[Fields]:
    """A module for each expert, as in transformers 4, so that they are quantised too."""
    if job.quantised and not job.experts and job.checkpoint.format in BITSANDBYTES:
        yield {"fused_experts": False}
        if lean := _lean(job):
            yield {"fused_experts": False} | lean


def _smaller(job: TrainingJob) -> Iterator[Fields]:
    """Half the micro-batch and twice the accumulation, until it fits: the optimizer sees the same batch."""
    size = job.micro_batch
    while size > 1:
        size = (size + 1) // 2
        steps = -(-job.micro_batch * job.accumulation // size)
        yield {"micro_batch": size, "gradient_accumulation_steps": steps}


def _shorter(job: TrainingJob) -> Iterator[Fields]:
    tokens = job.sequence_tokens // 2
    while tokens >= SHORTEST:
        yield {"sequence_tokens": tokens}
        tokens //= 2


def _optimizers(job: TrainingJob) -> Iterator[Fields]:
    if not job.full or job.recipe.master or job.optimizer is not OPTIMIZERS[OptimizerName.ADAMW]:
        return
    yield _EIGHT_BIT
    yield _EIGHT_BIT | _lean(job)
    yield _EIGHT_BIT | _lean(job) | {"optimizer_in_backward": True}


def _method(job: TrainingJob, method: Method) -> Iterator[Fields]:
    """Adapters in place of full training, QLoRA in place of LoRA."""
    if (method is Method.LORA and not job.full) or job.quantised:
        return
    fields: Fields = {"method": method}
    if job.workload.weights != "as_published":
        fields["weights"] = "as_published"
    if job.workload.optimizer_in_backward:
        fields["optimizer_in_backward"] = False
    yield fields
    if lean := _lean(job):
        yield fields | lean


def _more_cards(job: TrainingJob, placement: Placement, index: int) -> Iterator[Way]:
    """The fewest cards over which the states are sharded; recomputation and a fused loss besides if need be."""
    shared = job.workload.sharding
    fields: Fields = {} if shared not in {Sharding.NONE, Sharding.DDP} else {"sharding": Sharding.FSDP}
    lean = _lean(job)
    for where, cards in _clusters(placement, index):
        yield Way(fields, where, cards)
        if lean:
            yield Way(fields | lean, where, cards)


def _quantised(job: TrainingJob, placement: Placement, index: int) -> Iterator[Way]:
    """QLoRA here, else sharded over cards: for models whose quantised weights are still too many for one."""
    if job.quantised:
        return
    fields: Fields = {}
    for fields in _method(job, Method.QLORA):
        yield Way(fields, placement)
    if job.workload.sharding in {Sharding.NONE, Sharding.DDP}:
        fields = fields | {"sharding": Sharding.FSDP}
    for where, cards in _clusters(placement, index):
        yield Way(fields, where, cards)


def _everything(job: TrainingJob, placement: Placement, index: int) -> Iterator[Way]:
    """The last resort: QLoRA with every saving, over ever more cards, and ever shorter sequences."""
    for way in _quantised(job, placement, index):
        for shorter in _shorter(job):
            yield Way(way.fields | _lean(job) | shorter, way.where, way.cards)


def _clusters(placement: Placement, index: int) -> Iterator[tuple[Placement, tuple[Change, ...]]]:
    """The placement with ever more cards of its kind, joined by data parallelism."""
    layout = placement.layout
    for count in CARDS:
        data, rest = divmod(count, layout.tensor * layout.pipeline)
        if count > placement.count and not rest and placement.device.mig is None:
            spread = msgspec.structs.replace(layout, data=data)
            where = msgspec.structs.replace(placement, count=count, layout=spread)
            changes = [Change(pointer=f"/cards/{index}/count", value=count)]
            if placement.layout_given or layout != Layout(data=placement.count):
                changes.append(Change(pointer=f"/cards/{index}/layout/data", value=data))
            yield where, tuple(changes)


def _offloads(job: TrainingJob) -> Iterator[Fields]:
    if job.offload or job.workload.optimizer_in_backward:
        return
    if job.full:
        yield {"offload": (Offload.OPTIMIZER,)}
    yield {"offload": (Offload.PARAMETERS,)}
    yield {"offload": (Offload.ACTIVATIONS,)}
