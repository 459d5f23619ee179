"""LoRA adapters: which matrices the targets name, and how many parameters they add (LoRA, arXiv 2106.09685 §4.1)."""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.fused_names import NAMES, fused, parts_of
from cardmatch.engine.memory.training.workload import Lora, SavedModule
from cardmatch.engine.models.architecture import Architecture, LayerGroup
from cardmatch.engine.models.linears import Linear, PartKind, linears
from cardmatch.engine.models.parameters import layer_counts
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

HEAD = "lm_head"
_QKV = ("q_proj", "k_proj", "v_proj", "q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "in_proj_qkvz")
_MLP = ("gate_proj", "up_proj", "down_proj")
_ALIASES: dict[str, tuple[str, ...]] = {
    **{short: (f"{short}_proj",) for short in ("q", "k", "v", "o", "gate", "up", "down")},
    "qkv": _QKV,
    "attention": (*_QKV, "o_proj", "out_proj"),
    "mlp": _MLP,
}
"""Short names that go for every model."""


class Adapters(NamedTuple):
    """The adapted roles, adapter parameters in all layers and in the head, and parameters of whole saved modules."""

    roles: frozenset[str]
    parameters: int
    saved_parameters: int


NO_ADAPTERS = Adapters(frozenset(), 0, 0)


def adapters(architecture: Architecture, lora: Lora, *, experts: bool = True) -> Adapters:
    """The adapters that *lora* puts on *architecture*; with `experts` false routed experts, one tensor, get none.

    A matrix of in × out gets rank × (in + out) parameters. Raises Invalid for a target that the model lacks.
    """
    roles = target_roles(architecture, lora.targets, experts=experts)
    ends = 0
    for group, hidden, layers in _stacks(architecture):
        for block in group.blocks:
            adapted = [each for each in linears(block, hidden) if each.role in roles]
            ends += layers * (_ends(adapted) - _shared_inputs(adapted, architecture.family))
    if HEAD in roles:
        ends += architecture.hidden_size + architecture.vocabulary_size
    table = architecture.vocabulary_size * (architecture.embedding_size or architecture.hidden_size)
    saved = {SavedModule.EMBEDDING, SavedModule.HEAD} & set(lora.modules_to_save)
    tables = min(len(saved), 1) if architecture.tied_embeddings else len(saved)
    return Adapters(roles, lora.rank * ends, table * tables)


def _ends(adapted: list[Linear]) -> int:
    return sum((each.inputs + each.outputs) * each.copies for each in adapted)


def _shared_inputs(adapted: list[Linear], family: str) -> int:
    """Inputs that parts of one matrix share: a fused matrix gets one adapter, with one down-projection."""
    found = 0
    for together in fused(family):
        inputs = [each.inputs * each.copies for each in adapted if each.role in together]
        found += sum(inputs[1:]) if len(inputs) == len(together) else 0
    return found


def target_roles(architecture: Architecture, targets: tuple[str, ...], *, experts: bool = True) -> frozenset[str]:
    """The roles of the matrices that *targets* name. Raises Invalid, with the names that would do, for any other."""
    known = _adaptable(architecture, experts=experts)
    ends: dict[str, set[str]] = {}
    for each in known:
        ends.setdefault(each.role.rpartition(".")[2], set()).add(each.role)
        ends.setdefault(each.role, set()).add(each.role)
    found: set[str] = set()
    for index, target in enumerate(targets):
        roles = _named(target, ends, known, architecture.family)
        if not roles and target == HEAD and architecture.output_head:
            roles = {HEAD}
        # Peft passes over names of other families as long as any target is found.
        if not roles and (target not in NAMES or not _finds(targets, ends)):
            raise Invalid(
                Fault(
                    code=FaultCode.LORA_TARGET_NOT_IN_MODEL,
                    pointer=f"/workload/lora/targets/{index}",
                    params={"target": target, "known": sorted({role.rpartition(".")[2] for role in ends})},
                    suggestions=("all_linear", *sorted({role.rpartition(".")[2] for role in ends})),
                )
            )
        found |= roles
    return frozenset(found)


def _finds(targets: tuple[str, ...], ends: dict[str, set[str]]) -> bool:
    return any(target in ends for target in targets)


def _named(target: str, ends: dict[str, set[str]], known: tuple[Linear, ...], family: str) -> set[str]:
    if target in {"all_linear", "all-linear"}:
        return {each.role for each in known if each.part is not PartKind.ROUTER}
    if target in ends:
        return ends[target]
    names = _ALIASES.get(target) or parts_of(target, family)
    return set().union(*(ends.get(name, set()) for name in names))


def _stacks(architecture: Architecture) -> list[tuple[LayerGroup, int, int]]:
    """Groups of layers that adapters reach, with their width and how many layers there are: PEFT goes by names alone,
    which the layers of an encoder share.
    """
    groups = zip(architecture.layer_groups, layer_counts(architecture), strict=True)
    found = [(group, architecture.hidden_size, layers) for group, layers in groups]
    if architecture.encoder:
        encoder = architecture.encoder
        found.append((encoder.layer, encoder.hidden_size, encoder.layers))
    return found


def _adaptable(architecture: Architecture, *, experts: bool) -> tuple[Linear, ...]:
    return tuple(
        each
        for group, hidden, _ in _stacks(architecture)
        for block in group.blocks
        for each in linears(block, hidden)
        if experts or each.part is not PartKind.EXPERTS
    )
