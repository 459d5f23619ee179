"""From a config's quantisation to a checkpoint: which share of each part is stored in which format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import msgspec

from cardmatch.engine.models.architecture import Architecture, Dense
from cardmatch.engine.models.checkpoint import Checkpoint, Stored, plain
from cardmatch.engine.models.config.keys import Keys, wrong_type
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.models.linears import Linear, PartKind, linears
from cardmatch.engine.models.parameters import group_parameters
from cardmatch.engine.models.quantization.dialects import read_scheme
from cardmatch.engine.models.quantization.lists import kv_scheme
from cardmatch.engine.models.quantization.modules import Names, Patterns, joined, matches, names_of, parse_patterns
from cardmatch.engine.models.quantization.scheme import Number, Scheme, named
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

_DTYPES = {"bfloat16": Dtype.BF16, "float16": Dtype.FP16, "float32": Dtype.FP32, "half": Dtype.FP16}
_OTHER_TOOLS = frozenset({"awq", "gptq", "gptqmodel", "auto-round", "bitsandbytes", "exl2", "exl3"})
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")


def read_checkpoint(
    architecture: Architecture, config: Mapping[str, Any], side_file: Mapping[str, Any] | None = None
) -> Checkpoint:
    """How the weights of *config* are stored; *side_file* is its hf_quant_config.json. Raises Invalid."""
    base = _base(config)
    found = _described(config, side_file)
    if found is None:
        return plain(base)
    scheme = read_scheme(found)
    checkpoint = Checkpoint(
        format=scheme.label,
        base=base if base is not Dtype.FP32 else Dtype.BF16,
        stored=stored_parts(architecture, scheme, found.pointer),
        kv_cache=scheme.kv_cache or _declared_cache(side_file),
    )
    return _with_expert_dtype(architecture, checkpoint, config)


def _base(config: Mapping[str, Any]) -> Dtype:
    """The dtype of what is not quantised; bf16 where the config does not say."""
    places = [config, *(config[name] for name in _NESTED if isinstance(config.get(name), Mapping))]
    for place in places:
        for key in ("dtype", "torch_dtype"):
            name = place.get(key)
            if isinstance(name, str):
                return _DTYPES.get(name.removeprefix("torch."), Dtype.BF16)
    return Dtype.BF16


def _declared_cache(side_file: Mapping[str, Any] | None) -> KvFormat | None:
    """The cache format in the side file, for a config that leaves it out."""
    inner = side_file.get("quantization") if isinstance(side_file, Mapping) else None
    return kv_scheme(Keys(inner, pointer="/quantization/quantization")) if isinstance(inner, Mapping) else None


def _described(config: Mapping[str, Any], side_file: Mapping[str, Any] | None) -> Keys | None:
    """The object that describes the quantisation: the config's own, which says more, else the side file's."""
    for place, pointer in ((config, "/config"), *((config.get(name), f"/config/{name}") for name in _NESTED)):
        if not isinstance(place, Mapping):
            continue
        for key in ("quantization_config", "compression_config"):
            value = place.get(key)
            if value is None:
                continue
            if not isinstance(value, Mapping):
                wrong_type(value, f"{pointer}/{key}", "object")
            if value:
                return _agreeing(Keys(value, pointer=f"{pointer}/{key}"), side_file)
    if side_file is None:
        return None
    if not isinstance(side_file, Mapping):
        wrong_type(side_file, "/quantization", "object")
    return _beside(side_file)


def _beside(side_file: Mapping[str, Any]) -> Keys:
    inner = side_file.get("quantization")
    return Keys(inner if isinstance(inner, Mapping) else side_file, pointer="/quantization")


def _agreeing(own: Keys, side_file: Mapping[str, Any] | None) -> Keys:
    """The config's *own* description. Refused where another tool than ModelOpt wrote it and the side file differs."""
    if own.text("quant_method") in _OTHER_TOOLS and isinstance(side_file, Mapping):
        beside = _beside(side_file)
        if beside.find("quant_algo") and read_scheme(beside).label != read_scheme(own).label:
            params: Params = {"field": own.pointer}
            raise Invalid(Fault(code=FaultCode.CONFLICTS_WITH, pointer="/quantization", params=params))
    return own


class _Around(msgspec.Struct, frozen=True):
    """The patterns that concern one layer: what is spared, and what has which format of its own."""

    spared: Patterns
    listed: tuple[tuple[Patterns, Number], ...]


def stored_parts(architecture: Architecture, scheme: Scheme, pointer: str = "") -> tuple[Stored, ...]:
    """The shares of each part that *scheme* stores in each format. Raises Invalid for patterns it cannot read."""
    elements: defaultdict[PartKind, int] = defaultdict(int)
    held: defaultdict[tuple[PartKind, Number], int] = defaultdict(int)
    matrices = [_matrices(architecture, group) for group in range(len(architecture.layer_groups))]
    for (group, around), layers in _alike(architecture, scheme, pointer).items():
        for linear, names in matrices[group]:
            size = linear.parameters * layers
            elements[linear.part] += size
            number = _number(scheme, around, names) if linear.part in scheme.parts else None
            if number is not None:
                held[linear.part, number] += size
    return (
        *(
            Stored(part=part, format=number.format, bits=number.bits, share=size / elements[part])
            for (part, number), size in held.items()
        ),
        *_outside(architecture, scheme),
    )


def _alike(architecture: Architecture, scheme: Scheme, pointer: str) -> dict[tuple[int, _Around], int]:
    """How many layers of each group the same patterns concern."""
    spared, spared_layers = parse_patterns(scheme.spared, pointer)
    by_number: defaultdict[Number, list[str]] = defaultdict(list)
    for module, number in scheme.listed:
        by_number[number].append(module)
    listed = [(parse_patterns(modules, pointer), number) for number, modules in by_number.items()]
    alike: dict[tuple[int, Patterns | None, tuple[Patterns | None, ...]], int] = {}
    for layer, group in enumerate(architecture.layer_order):
        key = group, spared_layers.get(layer), tuple([single.get(layer) for (_, single), _ in listed])
        alike[key] = alike.get(key, 0) + 1
    return {
        (
            group,
            _Around(
                joined(spared, own),
                tuple(
                    (joined(each[0], single), number) for (each, number), single in zip(listed, singles, strict=True)
                ),
            ),
        ): layers
        for (group, own, singles), layers in alike.items()
    }


def _matrices(architecture: Architecture, group: int) -> list[tuple[Linear, Names]]:
    blocks = architecture.layer_groups[group].blocks
    beside = any(isinstance(block, Dense) for block in blocks)
    return [
        (linear, names_of(linear.part, linear.role, beside_dense=beside))
        for block in blocks
        for linear in linears(block, architecture.hidden_size)
    ]


def _number(scheme: Scheme, around: _Around, names: Names) -> Number | None:
    """The format of a matrix, or None where it stays as it is."""
    for patterns, number in around.listed:
        if matches(patterns, names):
            return number
    return None if scheme.number is None or matches(around.spared, names) else scheme.number


def _outside(architecture: Architecture, scheme: Scheme) -> list[Stored]:
    """Head, towers and MTP layers, where the tool quantises them."""
    found: list[Stored] = []
    head = scheme.head or next((number for module, number in scheme.listed if module.endswith("lm_head")), None)
    if head is not None and architecture.output_head:
        part = PartKind.EMBEDDING if architecture.tied_embeddings else PartKind.HEAD
        found.append(Stored(part=part, format=head.format, bits=head.bits))
    number = scheme.number
    if number is None:
        return found
    if PartKind.TOWER in scheme.parts and architecture.towers:
        found.append(Stored(part=PartKind.TOWER, format=number.format, bits=number.bits))
    if scheme.mtp and architecture.next_token_layers and not any(each.startswith("mtp") for each in scheme.spared):
        found.append(Stored(part=PartKind.MTP, format=number.format, bits=number.bits))
    return found


def _with_expert_dtype(architecture: Architecture, checkpoint: Checkpoint, config: Mapping[str, Any]) -> Checkpoint:
    """DeepSeek-V4 says outside `quantization_config` that its experts are 4-bit, those of its MTP layer too."""
    if config.get("expert_dtype") != "fp4":
        return checkpoint
    number = named("mxfp4")
    stored = list(checkpoint.stored)
    if not any(each.part is PartKind.EXPERTS and each.format == "nvfp4" for each in stored):
        stored = [each for each in stored if each.part is not PartKind.EXPERTS]
        stored.append(Stored(part=PartKind.EXPERTS, format=number.format, bits=number.bits))
    extra = architecture.next_token_layers
    if extra is not None:
        total, _, routed = group_parameters(extra.group, architecture.hidden_size)
        share = routed * extra.layers / (total * extra.layers + extra.extra_parameters)
        stored = [each for each in stored if each.part is not PartKind.MTP]
        rest = next((each for each in checkpoint.stored if each.part is PartKind.ATTENTION), None)
        stored.append(Stored(part=PartKind.MTP, format=number.format, bits=number.bits, share=share))
        if rest is not None:
            stored.append(Stored(part=PartKind.MTP, format=rest.format, bits=rest.bits, share=1 - share))
    return msgspec.structs.replace(checkpoint, format="mixed", stored=tuple(stored))
