"""How the weights of a model are stored: which parts in which number format, and how to re-quantise them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.models.architecture import Architecture, Experts
from cardmatch.engine.models.formats import DTYPE_BITS, FORMATS, Dtype, shrunk
from cardmatch.engine.models.gguf_mix import mix_bits
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.terms.units import Bytes


class Stored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A *share* of the elements of a part is stored in *format* at *bits* per weight, scales included."""

    part: PartKind
    format: str
    bits: Annotated[float, Meta(gt=0, le=64)]
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Weights as a file holds them. Parts that *stored* does not name are in *base*.

    *exact* says that the bits per weight were divided out of known bytes (tensor table, element counts, file size).
    """

    format: Annotated[str, Meta(max_length=64, description="Name of the format; `mixed` where no single one fits.")]
    base: Dtype = Dtype.BF16
    stored: Annotated[tuple[Stored, ...], Meta(max_length=64)] = ()
    kv_cache: Annotated[KvFormat | None, Meta(description="Cache format that the checkpoint declares.")] = None
    file_bytes: Bytes | None = None
    exact: bool = False


def plain(base: Dtype = Dtype.BF16) -> Checkpoint:
    """A checkpoint that is not quantised."""
    return Checkpoint(format=base.value, base=base)


def requantised(architecture: Architecture, checkpoint: Checkpoint, weights: str) -> Checkpoint:
    """*checkpoint* as the tools of format *weights* would write it anew; `as_published` leaves it as it is.

    The vocabulary is `WeightFormat`'s. Raises Invalid for a GGUF type that llama.cpp does not know.
    """
    if weights in {"as_published", checkpoint.format}:
        return checkpoint
    if weights in DTYPE_BITS:
        return Checkpoint(format=weights, base=Dtype(weights), kv_cache=checkpoint.kv_cache)
    base = checkpoint.base if checkpoint.base is not Dtype.FP32 else Dtype.BF16
    if weights.startswith("gguf:"):
        stored = tuple(
            Stored(part=part, format=weights, bits=bits) for part, bits in mix_bits(architecture, weights[5:]).items()
        )
        return Checkpoint(format=weights, base=Dtype.FP16, stored=stored)
    bits = FORMATS[weights].bits
    parts = sorted(shrunk(weights, has_experts=has_experts(architecture)))
    stored = tuple(Stored(part=part, format=weights, bits=bits) for part in parts)
    return Checkpoint(format=weights, base=base, stored=stored, kv_cache=checkpoint.kv_cache)


def has_experts(architecture: Architecture) -> bool:
    """Whether any layer is a mixture of experts."""
    return any(isinstance(block, Experts) for group in architecture.layer_groups for block in group.blocks)


def bits_per_weight(checkpoint: Checkpoint, part: PartKind) -> float:
    """Average bits of one element of *part*."""
    if not checkpoint.stored:
        return DTYPE_BITS[checkpoint.base]
    stored = [each for each in checkpoint.stored if each.part is part]
    rest = 1.0 - sum(each.share for each in stored)
    return sum(each.bits * each.share for each in stored) + max(rest, 0.0) * DTYPE_BITS[checkpoint.base]


def format_of(checkpoint: Checkpoint, part: PartKind) -> str:
    """The format that most elements of *part* are stored in."""
    shares = {checkpoint.base.value: 1.0}
    for each in checkpoint.stored:
        if each.part is part:
            shares[each.format] = shares.get(each.format, 0.0) + each.share
            shares[checkpoint.base.value] -= each.share
    return max(shares, key=lambda name: shares[name])
