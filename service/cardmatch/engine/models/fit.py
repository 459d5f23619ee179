"""Bits per weight from what a file is known to hold, where that says more than the names of formats."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint, Stored, bits_per_weight, plain
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.engine.terms.notice import Params

DTYPE_BYTES: dict[str, float] = {
    **dict.fromkeys(("F64", "I64", "U64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 1),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 0.75),
    "F4": 0.5,
}
_LARGEST_CORRECTION = 1.5
"""Beyond this a file holds something else than the checkpoint: a second head, another model, several types."""
_LEAST_PLAIN, _LEAST_PACKED, _MOST_HELD = 0.5, 1 / 16, 2.5
"""Bytes of a whole repository over those of the config: towers that no config describes above, packing below."""
_PLAIN = {"F32": Dtype.FP32, "F16": Dtype.FP16, "BF16": Dtype.BF16}


def tensors_bytes(elements: Mapping[str, int], pointer: str = "/safetensors") -> int:
    """Bytes of tensors with so many elements of each safetensors dtype. Raises Invalid for a dtype it does not know."""
    total = 0.0
    for name, count in elements.items():
        size = DTYPE_BYTES.get(name)
        if size is None:
            raise Invalid(
                Fault(
                    code=FaultCode.WRONG_VALUE,
                    pointer=pointer,
                    params={"value": name[:64], "known": sorted(DTYPE_BYTES)},
                )
            )
        total += size * count
    return round(total)


def fitted_to_tensors(architecture: Architecture, checkpoint: Checkpoint, elements: Mapping[str, int]) -> Checkpoint:
    """*checkpoint* corrected by the element count of each dtype in its safetensors files. Raises Invalid."""
    total = tensors_bytes(elements)
    if not checkpoint.stored and elements:
        most = max(elements, key=lambda name: elements[name])
        if most in _PLAIN:
            checkpoint = plain(_PLAIN[most])
    _check(architecture, checkpoint, total, elements)
    return fitted_to_file(architecture, checkpoint, total)


def _check(architecture: Architecture, checkpoint: Checkpoint, total: int, elements: Mapping[str, int]) -> None:
    """Refuse counts that cannot belong to the config: plain floats are all there, packed ones a sixteenth at least."""
    expected = sum(piece.bytes for piece in parts(architecture, checkpoint))
    plainly = not checkpoint.stored and max(elements, key=lambda name: elements[name]) in _PLAIN
    least = _LEAST_PLAIN if plainly else _LEAST_PACKED
    if not least * expected <= total <= _MOST_HELD * expected:
        params: Params = {"value": total, "expected": expected, "other": "/config"}
        raise Invalid(Fault(code=FaultCode.CONTRADICTION, pointer="/safetensors", params=params))


def fitted_to_file(architecture: Architecture, checkpoint: Checkpoint, file_bytes: int) -> Checkpoint:
    """*checkpoint* with the bits of its quantised parts scaled so that all parts take *file_bytes*.

    A file that is far from what the formats say is only noted: it holds something else too.
    """
    noted = msgspec.structs.replace(checkpoint, file_bytes=file_bytes)
    pieces = parts(architecture, checkpoint)
    total = sum(piece.bytes for piece in pieces)
    kinds = {each.part for each in checkpoint.stored}
    quantised = sum(piece.bytes for piece in pieces if piece.kind in kinds)
    if not quantised:
        return msgspec.structs.replace(noted, exact=abs(total / file_bytes - 1) < 0.01) if file_bytes else noted
    factor = (file_bytes - (total - quantised)) / quantised
    if not 1 / _LARGEST_CORRECTION < factor < _LARGEST_CORRECTION:
        return noted
    scaled = tuple(
        Stored(part=kind, format=_format(checkpoint, kind), bits=bits_per_weight(checkpoint, kind) * factor)
        for kind in sorted(kinds)
    )
    return msgspec.structs.replace(noted, stored=scaled, exact=True)


def _format(checkpoint: Checkpoint, kind: str) -> str:
    names = {each.format for each in checkpoint.stored if each.part == kind}
    return names.pop() if len(names) == 1 else "mixed"
