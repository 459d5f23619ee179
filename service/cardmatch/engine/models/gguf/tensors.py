"""The tensor table of a GGUF file: what each part takes, to the byte."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cardmatch.engine.models.config.keys import integer, wrong_type, wrong_value
from cardmatch.engine.models.ggml import GGML_NUMBERS, GGML_TYPES
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_MOST_TENSORS = 1 << 16
_LAYER = re.compile(r"^blk\.(\d{1,4})\.")
# What the names of tensors say, first match first (gguf-py constants.py, TENSOR_NAMES).
_KINDS: tuple[tuple[re.Pattern[str], PartKind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"^token_embd\.weight$|^token_types|^position_embd", PartKind.EMBEDDING),
        (r"^per_layer_token_embd\.weight$", PartKind.PER_LAYER_EMBEDDING),
        (r"^output\.weight$", PartKind.HEAD),
        (r"^(v|mm|a|resampler)\.", PartKind.TOWER),
        (r"norm|bias|scale|rope_freqs|\.ssm_(a|d|dt|conv1d)(\.|$)|attn_sinks|shortconv\.conv", PartKind.SMALL),
        (r"\.ffn_gate_inp_shexp\.|\.ssm_(ba|beta_alpha|alpha|beta)\.", PartKind.GATE),
        (r"\.ffn_gate_inp\.", PartKind.ROUTER),
        (r"\.ffn_\w+_exps\.|\.ffn_\w+\.\d+\.", PartKind.EXPERTS),
        (r"\.ffn_\w+_shexp\.", PartKind.SHARED_EXPERTS),
        (r"\.ffn_", PartKind.DENSE),
        (r"\.(attn|ssm|shortconv|cross_attn|inp_gate|proj|laurel|altup|indexer|kda)", PartKind.ATTENTION),
    )
)


class Table(msgspec.Struct, frozen=True):
    """Elements and bytes of each kind of part, the types that hold most, and whether there is an output matrix."""

    elements: dict[PartKind, int]
    bytes: dict[PartKind, int]
    types: dict[PartKind, str]
    has_output: bool


def read_table(tensors: Sequence[Any], layers: int) -> Table:
    """Sums over *tensors*, objects or triples of name, shape and type; layers from *layers* on are MTP's.

    Raises Invalid with pointers below /tensors.
    """
    if len(tensors) > _MOST_TENSORS:
        raise Invalid(Fault(code=FaultCode.TOO_MANY_ITEMS, pointer="/tensors", params={"maximum": _MOST_TENSORS}))
    elements: Counter[PartKind] = Counter()
    sizes: Counter[PartKind] = Counter()
    by_type: dict[PartKind, Counter[str]] = {}
    has_output = False
    for index, item in enumerate(tensors):
        name, count, kind_name = _tensor(item, f"/tensors/{index}")
        kind = _kind(name, layers)
        size = _bytes(count, kind_name)
        elements[kind] += count
        sizes[kind] += size
        by_type.setdefault(kind, Counter())[kind_name] += size
        has_output = has_output or kind is PartKind.HEAD
    types = {kind: counter.most_common(1)[0][0] for kind, counter in by_type.items()}
    return Table(dict(elements), dict(sizes), types, has_output)


def _kind(name: str, layers: int) -> PartKind:
    layer = _LAYER.match(name)
    if layer is not None and int(layer[1]) >= layers:
        return PartKind.MTP
    return next((kind for pattern, kind in _KINDS if pattern.search(name)), PartKind.SMALL)


def _bytes(elements: int, kind: str) -> int:
    block = GGML_TYPES[kind]
    return -(-elements // block.elements) * block.bytes


def _tensor(item: Any, pointer: str) -> tuple[str, int, str]:
    """Name, elements and type of one tensor."""
    if isinstance(item, Mapping):
        name = item.get("name")
        shape = next((item[key] for key in ("shape", "dimensions", "dims", "ne") if key in item), None)
        kind = next((item[key] for key in ("type", "ggml_type", "tensor_type") if key in item), None)
    elif isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 3:
        name, shape, kind = item
    else:
        wrong_type(item, pointer, "object")
    if not isinstance(name, str):
        wrong_type(name, f"{pointer}/name", "string")
    if not isinstance(shape, list | tuple) or not 1 <= len(shape) <= 8:
        wrong_type(shape, f"{pointer}/shape", "array")
    sides = [integer(side, f"{pointer}/shape/{place}", low=1, high=1 << 32) for place, side in enumerate(shape)]
    elements = integer(math.prod(sides), f"{pointer}/shape", low=1, high=1 << 45)
    return name[:200], elements, _type(kind, f"{pointer}/type")


def _type(kind: Any, pointer: str) -> str:
    if isinstance(kind, int) and not isinstance(kind, bool):
        kind = GGML_NUMBERS.get(kind, str(kind))
    if not isinstance(kind, str):
        wrong_type(kind, pointer, "string")
    name = kind.upper().removeprefix("GGML_TYPE_").removesuffix("_R4").removesuffix("_R8")
    if name not in GGML_TYPES:
        wrong_value(kind, pointer, tuple(GGML_TYPES))
    return name
