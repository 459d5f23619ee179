"""What a GGUF file holds, by its type, its size and its tensors, and whether these can belong to its metadata."""

from __future__ import annotations

from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.checkpoint import Checkpoint, requantised
from cardmatch.engine.models.config.keys import contradiction, wrong_type, wrong_value
from cardmatch.engine.models.fit import fitted_to_file
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.ggml import FILE_TYPES
from cardmatch.engine.models.gguf.metadata import Metadata
from cardmatch.engine.models.gguf.tensors import Table
from cardmatch.engine.models.gguf_mix import mix_name
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.parameters import embedding_parameters, parameters
from cardmatch.engine.models.parts import parts

_FILE_TYPE = "general.file_type"
_GUESSED = 1024
"""llama.cpp sets this bit where it guessed the type from the tensors (LLAMA_FTYPE_GUESSED)."""
_UNSTATED = 1
"""F16, what converters write where nothing else is asked for."""
_LEAST_HELD, _MOST_HELD = 0.9, 1.5
"""Share of the architecture's elements that a whole file holds: norms and biases below, second tables above."""
_OFF = 2.0
"""A file is never twice or half of what its type says; dynamic builds differ by less than a third."""
_SLACK = 1 << 26
"""Bytes that metadata and padding take beside the tensors; token lists of large vocabularies are the most of it."""


def file_type(metadata: Metadata) -> str | None:
    """The mix that `general.file_type` names, or None where it is absent or none that is known."""
    number = metadata.values.get(_FILE_TYPE)
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    name = FILE_TYPES.get(number & ~_GUESSED) if number >= 0 else None
    return name if name and mix_name(name) else None


def mixed(architecture: Architecture, metadata: Metadata, file_bytes: int | None) -> tuple[Checkpoint, dict[str, int]]:
    """The checkpoint by the file's type and size, and what was assumed, by JSON pointer.

    A type that is not stated or not known is that of the mix whose size comes nearest to *file_bytes*. Raises Invalid
    with pointers below /metadata for a type that nothing tells, at /file_bytes for a size that the type cannot have.
    """
    name, assumed = file_type(metadata), {}
    pointer = f"/metadata/{_FILE_TYPE}"
    if name is None and file_bytes is not None:
        name = min(_MIXES, key=lambda each: abs(_size(architecture, each) - file_bytes))
        assumed[pointer] = _MIXES[name]
    elif name is None:
        _unknown(metadata, pointer)
        name, assumed = FILE_TYPES[_UNSTATED], {pointer: _UNSTATED}
    checkpoint = _of_mix(architecture, name)
    if file_bytes is not None:
        expected = sum(part.bytes for part in parts(architecture, checkpoint))
        if not expected / _OFF <= file_bytes <= expected * _OFF + _SLACK:
            contradiction("/file_bytes", value=file_bytes, expected=expected, other="/metadata")
        checkpoint = fitted_to_file(architecture, checkpoint, file_bytes)
    return checkpoint, assumed


def check_table(architecture: Architecture, table: Table, file_bytes: int | None) -> None:
    """Refuse tensors that lack parts of the architecture or belong to another, and a file smaller than its tensors."""
    beside = {PartKind.MTP, PartKind.TOWER}
    held = sum(count for kind, count in table.elements.items() if kind not in beside)
    expected = parameters(architecture).total - sum(tower.parameters for tower in architecture.towers)
    if not table.has_output and architecture.output_head and not architecture.tied_embeddings:
        expected -= embedding_parameters(architecture) - architecture.per_layer_embedding_parameters
    if not _LEAST_HELD * expected <= held <= _MOST_HELD * expected:
        contradiction("/tensors", value=held, expected=expected, other="/metadata")
    size = sum(table.bytes.values())
    if file_bytes is not None and not size <= file_bytes <= _MOST_HELD * size + _SLACK:
        contradiction("/file_bytes", value=file_bytes, expected=size, other="/tensors")


def _unknown(metadata: Metadata, pointer: str) -> None:
    """Refuse a type that is stated and unknown."""
    stated = metadata.values.get(_FILE_TYPE)
    if stated is None:
        return
    if isinstance(stated, bool) or not isinstance(stated, int):
        wrong_type(stated, pointer, "integer")
    wrong_value(str(stated), pointer, [str(number) for number in _MIXES.values()])


def _of_mix(architecture: Architecture, name: str) -> Checkpoint:
    mix = mix_name(name) or name
    return requantised(architecture, Checkpoint(format="fp32", base=Dtype.FP32), f"gguf:{mix}")


def _size(architecture: Architecture, name: str) -> int:
    return sum(part.bytes for part in parts(architecture, _of_mix(architecture, name)))


_MIXES = {name: number for number, name in FILE_TYPES.items() if mix_name(name)}
