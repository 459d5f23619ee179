"""What llama.cpp's quantisation mixes make of a model's tensors (src/llama-quant.cpp, llama_tensor_get_type)."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

import msgspec

from cardmatch.engine.models.architecture import Architecture, Attention, Experts
from cardmatch.engine.models.ggml import GGML_TYPES
from cardmatch.engine.models.gguf_rules import FALLBACK, MIXES, Mix, Rule, Where
from cardmatch.engine.models.linears import Linear, PartKind, linears
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

_USUAL = ["Q4_K_M", "Q5_K_M", "Q8_0"]


class _Shape(msgspec.Struct, frozen=True):
    """What the rules ask about a model."""

    layers: int
    queries_per_kv_head: int
    experts: int


def mix_name(label: str) -> str | None:
    """The mix behind a file label, or None: dynamic, extra-large or interleaved builds keep their base mix's rules."""
    name = label.upper().removeprefix("UD-").removesuffix("_R4").removesuffix("_R8")
    candidates = [name]
    for suffix, base in (("_K_XL", "_K_M"), ("_XL", ""), ("_K_L", "_K_M"), ("_L", ""), ("_M", "")):
        if name.endswith(suffix):
            candidates.append(name.removesuffix(suffix) + base)
    return next((each for each in candidates if each in MIXES), None)


def mix_bits(architecture: Architecture, label: str) -> dict[PartKind, float]:
    """Bits per weight of each kind of part when *architecture* is quantised with mix *label* (`Q4_K_M`).

    Norms, routers and gates stay F32, and a matrix whose rows no block divides falls back to another type. Raises
    Invalid: wrong_value, where neither llama.cpp nor its fork has such a mix.
    """
    name = mix_name(label)
    if name is None:
        params: Params = {"value": f"gguf:{label[:32]}", "known": [f"gguf:{each}" for each in MIXES]}
        near = get_close_matches(label.upper(), MIXES, n=3, cutoff=0.5) or _USUAL
        suggestions = tuple(f"gguf:{each}" for each in near)
        raise Invalid(Fault(code=FaultCode.WRONG_VALUE, pointer="", params=params, suggestions=suggestions))
    mix = MIXES[name]
    shape = _shape(architecture)
    bits: dict[PartKind, float] = {}
    elements: dict[PartKind, int] = {}
    counts: dict[int, int] = {}
    for group in architecture.layer_order:
        counts[group] = counts.get(group, 0) + 1
    for group, layers in counts.items():
        for linear in _matrices(architecture, group):
            size = linear.parameters * layers
            elements[linear.part] = elements.get(linear.part, 0) + size
            bits[linear.part] = bits.get(linear.part, 0.0) + size * _linear_bits(mix, linear, shape)
    averages = {part: bits[part] / elements[part] for part in bits}
    f32, width = GGML_TYPES["F32"].bits, architecture.hidden_size
    output = _stored_bits(mix.output, width)
    table = output if architecture.tied_embeddings and architecture.output_head else _stored_bits(mix.embedding, width)
    per_layer = _stored_bits(mix.embedding, 256)
    return averages | {
        PartKind.ROUTER: f32,
        PartKind.GATE: f32,
        PartKind.SMALL: f32,
        PartKind.HEAD: output,
        PartKind.EMBEDDING: table,
        PartKind.PER_LAYER_EMBEDDING: per_layer,
        PartKind.MTP: averages.get(PartKind.EXPERTS, averages.get(PartKind.DENSE, output)),
    }


def _matrices(architecture: Architecture, group: int) -> Iterator[Linear]:
    for block in architecture.layer_groups[group].blocks:
        yield from linears(block, architecture.hidden_size)


def _shape(architecture: Architecture) -> _Shape:
    blocks = [block for group in architecture.layer_groups for block in group.blocks]
    ratio = max((each.query_heads // each.kv_heads for each in blocks if isinstance(each, Attention)), default=1)
    experts = max((each.experts for each in blocks if isinstance(each, Experts)), default=0)
    return _Shape(len(architecture.layer_order), ratio, experts)


def _linear_bits(mix: Mix, linear: Linear, shape: _Shape) -> float:
    """Bits of *linear*, averaged over layers: rules give some layers a richer type."""
    role = linear.role.rpartition(".")[2]
    left, total = 1.0, 0.0
    for rule in mix.rules:
        if rule.role in {role, linear.role} and left > 0:
            share = min(left, _share(rule, shape))
            total += share * _stored_bits(rule.type, linear.inputs)
            left -= share
    return total + left * _stored_bits(mix.base, linear.inputs)


def _share(rule: Rule, shape: _Shape) -> float:
    """The share of layers for which *rule* holds."""
    layers = shape.layers
    match rule.where:
        case Where.ALL:
            return 1.0
        case Where.GROUPED:
            return 1.0 if shape.queries_per_kv_head >= 4 else 0.0
        case Where.EIGHT_EXPERTS:
            return 1.0 if shape.experts == 8 else 0.0
        case Where.SEVENTY_BILLION:
            return 1.0 if layers == 80 and shape.queries_per_kv_head == 8 and not shape.experts else 0.0
        case Where.MORE_BITS:
            return sum(_more_bits(layer, layers) for layer in range(layers)) / layers
        case Where.FIRST_EIGHTH:
            return (layers // 8) / layers
        case Where.FIRST_SIXTEENTH:
            return (layers // 16) / layers
        case Where.FIRST_LAYERS:
            return min(rule.layers, layers) / layers


def _more_bits(layer: int, layers: int) -> bool:
    """llama.cpp's use_more_bits: the first and last eighth, and every third layer between."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def _stored_bits(name: str, row: int) -> float:
    """Bits of type *name* in rows of *row* elements, after the fallbacks for rows that its blocks do not divide."""
    while row % GGML_TYPES[name].elements and name in FALLBACK:
        name = FALLBACK[name]
    return GGML_TYPES[name].bits
