"""compressed-tensors: groups of modules, each with the bits, type and grouping of its weights."""

from __future__ import annotations

from cardmatch.engine.models.config.keys import Keys, wrong_value
from cardmatch.engine.models.formats import grouped
from cardmatch.engine.models.quantization.lists import kv_scheme, spared_modules, strings
from cardmatch.engine.models.quantization.scheme import Number, Scheme, integer_number, named

_MOST_GROUP = 1 << 16
_BITS = (4, 8)
"""What compressed-tensors packs (its quantization schemes W4A16, W8A16, W8A8, FP8, NVFP4, MXFP4)."""
_EVERYTHING = {"Linear", "FusedMoE", "re:.*", "*", "MoEGMM"}


def compressed_tensors(keys: Keys) -> Scheme:
    """The scheme of `config_groups`: one format for all linear modules, or formats for the modules they target."""
    groups = keys.within("config_groups")
    if groups is None or not groups.values:
        keys.missing("config_groups")
    spared, cache = spared_modules(keys), kv_scheme(keys)
    everything: list[Number] = []
    listed: list[tuple[str, Number]] = []
    for name in groups.values:
        group = groups.within(name)
        weights = group.within("weights") if group else None
        if group is None or weights is None:
            continue
        number = _number(weights, keys)
        targets = strings(group, "targets")
        if not targets or any(target in _EVERYTHING for target in targets):
            everything.append(number)
        else:
            listed += [(target, number) for target in targets]
    if not everything and not listed:
        groups.missing("weights")
    number_for_all = everything[0] if everything else None
    label = number_for_all.format if number_for_all and not listed else "mixed"
    return Scheme(
        label=label,
        number=number_for_all,
        spared=spared,
        listed=tuple(listed),
        kv_cache=cache,
    )


def check_groups(keys: Keys) -> None:
    """Refuse `config_groups` whose bits no tool packs, where something else says the format (ModelOpt)."""
    groups = keys.within("config_groups")
    for name in groups.values if groups else ():
        group = groups.within(name) if groups else None
        weights = group.within("weights") if group else None
        if weights is not None and weights.find("num_bits"):
            _bits(weights)


def _bits(weights: Keys) -> int:
    bits = weights.size("num_bits", low=1, high=16)
    if bits not in _BITS:
        wrong_value(str(bits), weights.at("num_bits"), [str(each) for each in _BITS])
    return bits


def _number(weights: Keys, keys: Keys) -> Number:
    """The number format of one group of modules."""
    bits = _bits(weights)
    kind = weights.text("type", "int")
    group = weights.size("group_size", 0, low=-1, high=_MOST_GROUP)
    strategy = weights.text("strategy", "group" if group > 0 else "channel")
    if kind == "float":
        return _float(weights, bits, group, strategy, keys.text("format"))
    if kind != "int":
        wrong_value(kind, weights.at("type"), ("int", "float"))
    if bits == 8 and group <= 0:
        return named("int8")
    label = "w4a16" if bits == 4 else "gptq_int8" if bits == 8 else "mixed"
    zero_points = not weights.flag("symmetric", fallback=True)
    return integer_number(bits, group, label=label, zero_points=zero_points)


def _float(weights: Keys, bits: int, group: int, strategy: str, container: str) -> Number:
    if bits == 8:
        if strategy == "block":
            return named("fp8_block")
        return Number("mxfp8", grouped(8, group, 8)) if group > 0 else named("fp8")
    if bits == 4:
        if "mxfp4" in container or group == 32:
            return named("mxfp4")
        return named("nvfp4")
    return wrong_value(str(bits), weights.at("num_bits"), ("4", "8"))
