"""Which layers and which of their tensors lie on which GPU, and what stays in RAM.

Source: src/llama-model.cpp (b11501): the last layers go to the GPUs in proportion, the output counts as a layer, the
token embedding stays on the host, a tied one is copied to where the output lies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import accumulate

import msgspec

from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp, SplitMode
from cardmatch.engine.memory.engines.llama_cpp.overrides import Where, compiled
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.parts import Part, Stage

# Tensor names of each kind of part, to match overrides against (src/llama-arch.cpp).
_NAMES = {
    PartKind.ATTENTION: ("attn_q", "attn_k", "attn_v", "attn_output"),
    PartKind.DENSE: ("ffn_gate", "ffn_up", "ffn_down"),
    PartKind.EXPERTS: ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"),
    PartKind.SHARED_EXPERTS: ("ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"),
}


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """The *weights* of a job, their bytes per GPU, layers per GPU (their caches follow), and what the host holds.

    `host_layers` are those whose caches lie in RAM; `host_expert_layers` those with experts there, and `moved` are the
    bytes of other parts that overrides take there from layers on GPUs.
    """

    weights: tuple[Part, ...]
    gpu_bytes: tuple[int, ...]
    gpu_layers: tuple[tuple[int, ...], ...]
    host_bytes: int
    host_layers: tuple[int, ...]
    host_expert_layers: int
    output_gpu: int | None
    moved: tuple[tuple[PartKind, int], ...] = ()

    @property
    def offloaded(self) -> bool:
        """Whether anything that computes lies in RAM (the token embedding always does)."""
        return bool(self.host_layers or self.host_expert_layers or self.moved) or self.output_gpu is None


def spread(job: ServingJob, weights: tuple[Part, ...], options: LlamaCpp, gpus: int, *, output_first: bool) -> Spread:
    """Spread the *weights* of *job* over *gpus* equal GPUs. Raises Invalid for an override that cannot be read."""
    layers = len(job.architecture.layer_order)
    owners = _owners(layers, options, gpus, output_first=output_first)
    per_layer, hosted = _per_layer(weights), _hosted(job, options)
    on_gpu, on_host, expert_layers = _layer_weights(job, per_layer, owners[:-1], hosted)
    output = owners[-1]
    for part in weights:
        if part.stage is Stage.LAYERS or part.kind in {PartKind.MTP, PartKind.TOWER}:
            continue
        embedding = part.kind in {PartKind.EMBEDDING, PartKind.PER_LAYER_EMBEDDING}
        tied = part.kind is PartKind.EMBEDDING and job.architecture.tied_embeddings and job.architecture.output_head
        if output is not None and (not embedding or tied):
            on_gpu[output] = on_gpu.get(output, 0.0) + part.bytes
        if embedding or output is None:
            on_host += part.bytes
    cached = owners[:-1] if options.kv_offload else [None] * layers
    return Spread(
        weights=weights,
        gpu_bytes=tuple(int(on_gpu.get(gpu, 0.0)) for gpu in range(gpus)),
        gpu_layers=tuple(tuple(i for i, owner in enumerate(cached) if owner == gpu) for gpu in range(gpus)),
        host_bytes=int(on_host),
        host_layers=tuple(i for i, owner in enumerate(cached) if owner is None),
        host_expert_layers=expert_layers,
        output_gpu=output,
        moved=_moved(job, per_layer, owners, hosted),
    )


def _owners(layers: int, options: LlamaCpp, gpus: int, *, output_first: bool) -> list[int | None]:
    """The GPU of each layer and, last, of the output; None for the host.

    The last layers are offloaded; the output is the first of them, or in older builds the one after all layers.
    """
    asked = layers + 1 if options.n_gpu_layers is None else min(options.n_gpu_layers, layers + 1)
    placed: list[int | None] = [_gpu(position, asked, options, gpus) for position in range(asked)]
    if output_first or asked > layers:
        return [None] * (layers + 1 - asked) + placed
    return [*[None] * (layers - asked), *placed, None]


def _layer_weights(
    job: ServingJob,
    per_layer: dict[int, dict[PartKind, float]],
    owners: list[int | None],
    hosted: dict[tuple[int, PartKind], float],
) -> tuple[dict[int, float], float, int]:
    """Bytes of all layers on each GPU and in RAM, and how many layers on GPUs have experts in RAM."""
    on_gpu: dict[int, float] = {}
    on_host, expert_layers = 0.0, 0
    whole = {group: sum(kinds.values()) for group, kinds in per_layer.items()}
    for (group, gpu), layers in Counter(zip(job.architecture.layer_order, owners, strict=True)).items():
        if gpu is None:
            on_host += whole.get(group, 0.0) * layers
        else:
            on_gpu[gpu] = on_gpu.get(gpu, 0.0) + whole.get(group, 0.0) * layers
    for (layer, kind), share in hosted.items():
        gpu, group = owners[layer], job.architecture.layer_order[layer]
        size = per_layer.get(group, {}).get(kind, 0.0) * share
        if gpu is not None and size:
            on_host += size
            on_gpu[gpu] -= size
            expert_layers += kind is PartKind.EXPERTS
    return on_gpu, on_host, expert_layers


def _moved(
    job: ServingJob,
    per_layer: dict[int, dict[PartKind, float]],
    owners: list[int | None],
    hosted: dict[tuple[int, PartKind], float],
) -> tuple[tuple[PartKind, int], ...]:
    """Bytes that overrides take to RAM from layers on GPUs, by kind of part; experts are counted by their layers."""
    sizes: dict[PartKind, float] = {}
    for (layer, kind), share in hosted.items():
        size = per_layer.get(job.architecture.layer_order[layer], {}).get(kind, 0.0) * share
        if owners[layer] is not None and size and kind is not PartKind.EXPERTS:
            sizes[kind] = sizes.get(kind, 0.0) + size
    return tuple((kind, int(size)) for kind, size in sizes.items())


def _gpu(position: int, asked: int, options: LlamaCpp, gpus: int) -> int:
    """The GPU of the layer at *position* of those that are offloaded."""
    if options.split_mode is SplitMode.NONE or gpus == 1:
        return 0
    shares = list(options.tensor_split[:gpus]) or [1.0] * gpus
    shares += [0.0] * (gpus - len(shares))
    total = sum(shares) or 1.0
    return min(bisect_right([point / total for point in accumulate(shares)], position / asked), gpus - 1)


def _per_layer(parts: tuple[Part, ...]) -> dict[int, dict[PartKind, float]]:
    """Bytes of one layer of each group, by kind of part."""
    sizes: dict[int, dict[PartKind, float]] = {}
    for part in parts:
        if part.stage is Stage.LAYERS and part.group is not None:
            kinds = sizes.setdefault(part.group, {})
            kinds[part.kind] = kinds.get(part.kind, 0.0) + part.bytes / part.layers
    return sizes


def _hosted(job: ServingJob, options: LlamaCpp) -> dict[tuple[int, PartKind], float]:
    """The share of each layer's parts that options keep in RAM."""
    layers = len(job.architecture.layer_order)
    shares = {
        (layer, PartKind.EXPERTS): 1.0
        for layer in range(layers if options.experts_on_host else min(options.n_cpu_moe, layers))
    }
    patterns = [
        (compiled(override, f"/workload/engine/override_tensors/{index}/pattern"), override.to)
        for index, override in enumerate(options.override_tensors)
    ]
    for layer in range(layers) if patterns else ():
        for kind, names in _NAMES.items():
            places = [
                next((to for pattern, to in patterns if pattern.search(f"blk.{layer}.{name}.weight")), None)
                for name in names
            ]
            if any(places):
                before = shares.get((layer, kind), 0.0)
                shares[layer, kind] = sum(
                    before if place is None else float(place is Where.HOST) for place in places
                ) / len(places)
    return shares
