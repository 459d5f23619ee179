"""How many parameters a model has, and how many of them one token passes through."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.models.architecture import Architecture, Encoder, Experts, LayerGroup, NextTokenLayers
from cardmatch.engine.models.linears import linears
from cardmatch.engine.terms.units import Parameters


class ParameterCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a model, multi-token-prediction layers apart."""

    total: Annotated[Parameters, Meta(description="All parameters with towers and encoder, without MTP layers.")]
    active: Annotated[
        Parameters,
        Meta(
            description="Parameters that serve one token: everything but the routed experts that are not chosen. "
            "Embeddings, head, shared experts and towers count."
        ),
    ]
    embedding: Parameters
    head: Parameters
    routed_experts: Parameters
    towers: Parameters
    next_token: Annotated[Parameters, Meta(description="Multi-token-prediction layers, beside the total.")]


def layer_counts(architecture: Architecture) -> tuple[int, ...]:
    """How many layers each group has."""
    counts = [0] * len(architecture.layer_groups)
    for group in architecture.layer_order:
        counts[group] += 1
    return tuple(counts)


def group_parameters(group: LayerGroup, hidden_size: int) -> tuple[int, int, int]:
    """Total, active and routed-expert parameters of one layer of *group*."""
    total = active = group.small_parameters
    routed = 0
    for block in group.blocks:
        for linear in linears(block, hidden_size):
            total += linear.parameters
            active += linear.active_parameters
            if linear.copies > 1:
                routed += linear.parameters
        if isinstance(block, Experts):
            total += group.expert_small_parameters * block.experts
            active += group.expert_small_parameters * block.experts_per_token
            routed += group.expert_small_parameters * block.experts
    return total, active, routed


def embedding_parameters(architecture: Architecture) -> int:
    """Elements of the vocabulary's and all other lookup tables, per-layer ones included."""
    width = architecture.embedding_size or architecture.hidden_size
    tables = architecture.extra_embedding_parameters + architecture.per_layer_embedding_parameters
    return architecture.vocabulary_size * width + tables


def head_parameters(architecture: Architecture) -> int:
    """Elements of the output head; zero where it is the embedding or absent."""
    if architecture.tied_embeddings or not architecture.output_head:
        return 0
    return architecture.vocabulary_size * (architecture.embedding_size or architecture.hidden_size)


def encoder_parameters(encoder: Encoder | None) -> int:
    """Parameters of the encoder of an encoder-decoder."""
    if encoder is None:
        return 0
    return group_parameters(encoder.layer, encoder.hidden_size)[0] * encoder.layers + encoder.small_parameters


def next_token_parameters(layers: NextTokenLayers | None, hidden_size: int) -> int:
    """Parameters of the multi-token-prediction layers."""
    if layers is None:
        return 0
    return group_parameters(layers.group, hidden_size)[0] * layers.layers + layers.extra_parameters


def parameters(architecture: Architecture) -> ParameterCounts:
    """Parameter counts of *architecture*."""
    embedding, head = embedding_parameters(architecture), head_parameters(architecture)
    towers = sum(tower.parameters for tower in architecture.towers)
    beside = embedding + head + towers + architecture.small_parameters + encoder_parameters(architecture.encoder)
    total = active = beside
    routed = 0
    for group, layers in zip(architecture.layer_groups, layer_counts(architecture), strict=True):
        group_total, group_active, group_routed = group_parameters(group, architecture.hidden_size)
        total += group_total * layers
        active += group_active * layers
        routed += group_routed * layers
    return ParameterCounts(
        total=total,
        active=active,
        embedding=embedding,
        head=head,
        routed_experts=routed,
        towers=towers,
        next_token=next_token_parameters(architecture.next_token_layers, architecture.hidden_size),
    )
