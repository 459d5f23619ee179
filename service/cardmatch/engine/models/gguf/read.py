"""From a GGUF file's metadata, tensor table and size to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cardmatch.engine.models.architecture import AnyBlock, Architecture, Attention, Dense, LayerGroup
from cardmatch.engine.models.checkpoint import Checkpoint, Stored
from cardmatch.engine.models.config.dialects import Dialects, Family
from cardmatch.engine.models.config.keys import Keys, divisible
from cardmatch.engine.models.config.read import READERS
from cardmatch.engine.models.config.stack import stack
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.gguf.held import check_table, file_type, mixed
from cardmatch.engine.models.gguf.metadata import Metadata
from cardmatch.engine.models.gguf.tensors import Table, read_table
from cardmatch.engine.models.gguf.translate import STATED, in_gguf_words, translated
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.model import Model
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.models.parts import parts
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid


def read_gguf(
    values: Mapping[str, Any],
    dialects: Dialects,
    *,
    tensors: Sequence[Any] | None = None,
    file_bytes: int | None = None,
) -> Model:
    """The model of a GGUF file: its tensor table, where given, says what each part takes; else its type and size.

    Raises Invalid with pointers below /metadata and /tensors.
    """
    try:
        metadata = Metadata(values)
        architecture = _architecture(metadata, dialects)
    except Invalid as wrong:
        raise wrong.under("/metadata") from None
    table = read_table(tensors, len(architecture.layer_order)) if tensors else None
    if table is not None:
        check_table(architecture, table, file_bytes)
        architecture = _as_held(architecture, table)
        return Model(architecture=architecture, checkpoint=_exact(architecture, table, metadata, file_bytes))
    checkpoint, assumed = mixed(architecture, metadata, file_bytes)
    return Model(architecture=architecture, checkpoint=checkpoint, assumed=assumed)


def _architecture(metadata: Metadata, dialects: Dialects) -> Architecture:
    name = dialects.gguf.get(metadata.architecture)
    if name is None:
        raise Invalid(
            Fault(
                code=FaultCode.UNKNOWN_ARCHITECTURE,
                pointer="/general.architecture",
                params={"architecture": metadata.architecture[:64]},
            )
        )
    if name == "llama" and metadata.maybe("expert_count"):
        name = "mixtral"
    family = dialects.families[name]
    if family.reader == "nemotron_nas" or (family.reader == "decoder" and metadata.varies("attention.head_count")):
        return _layer_by_layer(metadata, family)
    config = translated(metadata, name, family)
    defaults = {key: value for key, value in family.defaults.items() if key not in STATED}
    keys = Keys(config, names={**dialects.names, **family.names}, defaults=defaults)
    try:
        found = READERS[family.reader](keys, family)
    except Invalid as wrong:
        raise in_gguf_words(wrong, metadata) from None
    if family.reader == "decoder" and metadata.varies("attention.head_count_kv"):
        found = _with_own_heads(found, metadata)
    return msgspec.structs.replace(
        found, family=name, tied_embeddings=family.tied, output_head=found.output_head and not family.headless
    )


def _with_own_heads(architecture: Architecture, metadata: Metadata) -> Architecture:
    """*architecture* with the key-value heads that the metadata lists layer by layer; none means no attention."""
    counts = metadata.array("attention.head_count_kv", high=4096)
    heads, pointer = metadata.pointer("attention.head_count"), metadata.pointer("attention.head_count_kv")

    def layer(key: tuple[int, int]) -> LayerGroup:
        group, kv_heads = architecture.layer_groups[key[0]], key[1]
        blocks: list[AnyBlock] = []
        for block in group.blocks:
            if not isinstance(block, Attention):
                blocks.append(block)
            elif kv_heads:
                divisible(block.query_heads, heads, divisor=kv_heads, other=pointer)
                blocks.append(msgspec.structs.replace(block, kv_heads=kv_heads))
        return msgspec.structs.replace(group, blocks=tuple(blocks))

    groups, order = stack(zip(architecture.layer_order, counts, strict=False), layer)
    return msgspec.structs.replace(architecture, layer_groups=groups, layer_order=order)


def _layer_by_layer(metadata: Metadata, family: Family) -> Architecture:
    """Layers whose heads and widths the metadata lists one by one; no heads means no attention, no width none."""
    hidden = metadata.size("embedding_length", high=1 << 17)
    heads = metadata.array("attention.head_count", high=4096)
    kv_heads = metadata.array("attention.head_count_kv", high=4096)
    widths = metadata.array("feed_forward_length", high=1 << 22)
    most = max(heads)
    if most and not max(kv_heads):
        metadata.none("attention.head_count_kv")
    size = metadata.maybe("attention.key_length") or divisible(
        hidden,
        metadata.pointer("embedding_length"),
        divisor=max(most, 1),
        other=metadata.pointer("attention.head_count"),
    )

    def layer(key: tuple[int, int, int]) -> LayerGroup:
        queries, keys, width = key
        blocks: list[Attention | Dense] = []
        if queries and keys:
            divisible(queries, metadata.pointer("attention.head_count"), divisor=keys, other="")
            blocks.append(Attention(query_heads=queries, kv_heads=keys, head_size=size))
        if width:
            blocks.append(Dense(width=width, gated=family.gated))
        return LayerGroup(blocks=tuple(blocks), small_parameters=len(blocks) * hidden)

    groups, order = stack(zip(heads, kv_heads, widths, strict=True), layer)
    context = metadata.maybe("context_length", low=1)
    return Architecture(
        family=metadata.architecture,
        hidden_size=hidden,
        vocabulary_size=metadata.vocabulary(),
        layer_groups=groups,
        layer_order=order,
        maximum_context_tokens=context,
        tied_embeddings=family.tied,
        small_parameters=hidden,
        rotary_cache_elements=(context or 0) * size,
    )


def _as_held(architecture: Architecture, table: Table) -> Architecture:
    """*architecture* with what only the tensors tell: whether the head is the embedding, and the small parameters."""
    tied = architecture.output_head and not table.has_output
    architecture = msgspec.structs.replace(architecture, tied_embeddings=tied, next_token_layers=None)
    missing = sum(count for kind, count in table.elements.items() if kind not in {PartKind.MTP, PartKind.TOWER})
    missing -= parameters(architecture).total
    small = max(architecture.small_parameters + missing, 0)
    return msgspec.structs.replace(architecture, small_parameters=small)


def _exact(architecture: Architecture, table: Table, metadata: Metadata, file_bytes: int | None) -> Checkpoint:
    """A checkpoint whose parts take the bytes of the tensors, spread over the elements that the architecture gives."""
    elements: dict[PartKind, int] = {}
    for piece in parts(architecture, Checkpoint(format="fp32", base=Dtype.FP32)):
        elements[piece.kind] = elements.get(piece.kind, 0) + piece.elements
    stored = []
    for kind, count in elements.items():
        size = table.bytes.get(kind)
        if size and count:
            bits = min(max(size * 8 / count, 0.01), 64.0)
            stored.append(Stored(part=kind, format=f"gguf:{table.types[kind]}", bits=bits))
    label = file_type(metadata)
    widest = max(table.bytes, key=lambda kind: table.bytes[kind])
    return Checkpoint(
        format=f"gguf:{label or table.types[widest]}",
        base=Dtype.FP32,
        stored=tuple(stored),
        file_bytes=file_bytes or sum(table.bytes.values()),
        exact=True,
    )
