"""The dialects of `quantization_config`: each method's words for bits, groups and spared modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cardmatch.engine.models.config.keys import Keys, wrong_type
from cardmatch.engine.models.formats import FORMATS, grouped
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.quantization.compressed import check_groups, compressed_tensors
from cardmatch.engine.models.quantization.lists import kv_scheme, spared_modules, strings
from cardmatch.engine.models.quantization.scheme import Number, Scheme, integer_number, named
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_MOST_GROUP = 1 << 16
_ALGORITHMS = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8_block",
    "FP8_BLOCK": "fp8_block",
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "MXFP8": "mxfp8",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
    "W4A16_AWQ": "awq_int4",
    "W4A8_AWQ": "awq_int4",
    "W4A16": "w4a16",
    "W8A16": "int8",
    "INT8_SQ": "int8",
    "W8A8_SQ_PER_CHANNEL": "int8",
}


def read_scheme(keys: Keys) -> Scheme:
    """The scheme that an object describes, by its `quant_method` or by the words that it uses. Raises Invalid."""
    if keys.find("quant_algo"):
        return _modelopt(keys)
    method = keys.text("quant_method")
    if not method and keys.find("config_groups"):
        method = "compressed-tensors"
    if not method and (keys.find("load_in_4bit") or keys.find("load_in_8bit")):
        method = "bitsandbytes"
    reader = _METHODS.get(method)
    if reader is None:
        raise Invalid(
            Fault(
                code=FaultCode.QUANTIZATION_UNKNOWN,
                pointer=keys.at("quant_method"),
                params={"value": (method or "quant_method")[:64]},
            )
        )
    return reader(keys)


def _gptq(keys: Keys) -> Scheme:
    bits = keys.size("bits", low=2, high=8)
    label = f"gptq_int{bits}" if bits in {4, 8} else "mixed"
    number = integer_number(bits, keys.size("group_size", 128, low=-1, high=_MOST_GROUP), label=label, zero_points=True)
    head = number if keys.flag("lm_head") else None
    return Scheme(label=label, number=number, spared=spared_modules(keys), head=head)


def _awq(keys: Keys) -> Scheme:
    bits = keys.size("bits", low=2, high=8)
    label = "awq_int4" if bits == 4 else "mixed"
    group = keys.size("group_size", 128, low=-1, high=_MOST_GROUP)
    number = integer_number(bits, group, label=label, zero_points=keys.flag("zero_point", fallback=True))
    return Scheme(label=label, number=number, spared=spared_modules(keys))


def _auto_round(keys: Keys) -> Scheme:
    bits = keys.size("bits", low=2, high=8)
    label = f"gptq_int{bits}" if bits in {4, 8} else "mixed"
    number = integer_number(bits, keys.size("group_size", 128, low=-1, high=_MOST_GROUP), label=label, zero_points=True)
    return Scheme(label=label, number=number, spared=spared_modules(keys))


def _bitsandbytes(keys: Keys) -> Scheme:
    spared = strings(keys, "llm_int8_skip_modules")
    if keys.flag("load_in_4bit"):
        name = "nf4_dq" if keys.flag("bnb_4bit_use_double_quant") else "nf4"
        return Scheme(label=name, number=named(name), spared=spared, parts=FORMATS[name].shrinks)
    return Scheme(label="int8", number=named("int8"), spared=spared, parts=FORMATS["int8"].shrinks)


def _fp8(keys: Keys) -> Scheme:
    """Block-wise FP8 as DeepSeek, Qwen and GLM publish it: MTP layers are quantised too."""
    found = keys.array("weight_block_size", length=None, most=4)
    spared = spared_modules(keys)
    if found is None:
        return Scheme(label="fp8", number=named("fp8"), spared=spared, mtp=True)
    blocks = keys.integers("weight_block_size", low=1, high=_MOST_GROUP) or [128, 128]
    area = 1
    for side in blocks:
        area *= side
    return Scheme(label="fp8_block", number=Number("fp8_block", grouped(8, area, 32)), spared=spared, mtp=True)


def _fbgemm(keys: Keys) -> Scheme:
    return Scheme(label="fp8", number=named("fp8"), spared=spared_modules(keys))


def _mxfp4(keys: Keys) -> Scheme:
    """GPT-OSS: experts alone are 4-bit."""
    experts = frozenset({PartKind.EXPERTS})
    return Scheme(label="mxfp4", number=named("mxfp4"), spared=spared_modules(keys), parts=experts)


def _exl(keys: Keys) -> Scheme:
    bits = keys.number("bits", 4, low=1, high=8)
    head = keys.number("head_bits", 6, low=1, high=16)
    return Scheme(label="exl3", number=Number("exl3", bits), head=Number("exl3", head))


def _modelopt(keys: Keys) -> Scheme:
    """NVIDIA ModelOpt, in config.json or in its side file: one algorithm, or a table of modules with theirs."""
    algorithm = keys.text("quant_algo")
    check_groups(keys)
    cache = kv_scheme(keys)
    spared = spared_modules(keys)
    if algorithm == "MIXED_PRECISION":
        base = _fp8(keys) if keys.text("quant_method") == "fp8" else None
        listed = _listed(keys)
        return Scheme(
            label="mixed",
            number=base.number if base else None,
            listed=listed,
            spared=() if base else spared,
            kv_cache=cache,
            mtp=bool(base),
        )
    name = _algorithm(algorithm, keys.at("quant_algo"))
    group = keys.size("group_size", 0, low=0, high=_MOST_GROUP)
    number = named(name)
    if name in {"awq_int4", "w4a16"} and group:
        number = integer_number(4, group, label=name, zero_points=False)
    return Scheme(label=name, number=number, spared=spared, kv_cache=cache)


def _algorithm(name: str, pointer: str) -> str:
    if name not in _ALGORITHMS:
        raise Invalid(
            Fault(code=FaultCode.QUANTIZATION_UNKNOWN, pointer=pointer, params={"value": name[:64] or "quant_algo"})
        )
    return _ALGORITHMS[name]


def _listed(keys: Keys) -> tuple[tuple[str, Number], ...]:
    """Modules of `quantized_layers` with their formats; one expert stands for all."""
    table = keys.within("quantized_layers")
    if table is None:
        keys.missing("quantized_layers")
    found: list[tuple[str, Number]] = []
    numbers: dict[str, Number] = {}
    # Tens of thousands of lines say the same of every expert.
    modules = [module for module in table.values if ".experts." not in module or ".experts.0." in module]
    for module in modules:
        entry = table.values[module]
        if not isinstance(entry, Mapping):
            wrong_type(entry, table.at(module), "object")
        name = entry.get("quant_algo")
        if not isinstance(name, str):
            wrong_type(name, f"{table.at(module)}/quant_algo", "string")
        if name not in numbers:
            numbers[name] = named(_algorithm(name, f"{table.at(module)}/quant_algo"))
        found.append((module, numbers[name]))
    return tuple(found)


_METHODS: dict[str, Callable[[Keys], Scheme]] = {
    "gptq": _gptq,
    "gptqmodel": _gptq,
    "awq": _awq,
    "auto-round": _auto_round,
    "auto_round": _auto_round,
    "intel/auto-round": _auto_round,
    "bitsandbytes": _bitsandbytes,
    "fp8": _fp8,
    "fbgemm_fp8": _fbgemm,
    "mxfp4": _mxfp4,
    "compressed-tensors": compressed_tensors,
    "modelopt": compressed_tensors,
    "exl2": _exl,
    "exl3": _exl,
}
