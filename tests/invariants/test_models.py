"""The model data: every row readable and vouched for, every name leads to a row."""

from __future__ import annotations

import time

import pytest

from cardmatch.catalogue.bundled_models import bundled_models
from cardmatch.catalogue.models import ModelRow, Verified
from cardmatch.catalogue.names.formats import format_in
from cardmatch.engine.models.cache import by_layer
from cardmatch.engine.models.linears import PartKind
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.models.parts import parts

MODELS = bundled_models()
ROWS = list(MODELS.models.values())
each_row = pytest.mark.parametrize("row", ROWS, ids=list(MODELS.models))


def test_the_catalogue_is_whole() -> None:
    """More than three hundred models in the order of their ids, those of the guides' sizes among them."""
    assert len(ROWS) > 300
    assert list(MODELS.models) == sorted(MODELS.models)
    assert {"meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-13b-chat-hf", "Qwen/Qwen3-32B"} <= MODELS.models.keys()


@each_row
def test_the_parts_of_a_checkpoint_are_its_parameters(row: ModelRow) -> None:
    """Parts add up to the total and the MTP layers, and no part takes nothing or more than fp32 would."""
    pieces = parts(row.architecture, row.checkpoint)
    counts = parameters(row.architecture)
    assert sum(piece.elements for piece in pieces) == counts.total + counts.next_token
    assert all(0 < piece.bytes <= 4 * piece.elements + 4 for piece in pieces)
    assert (counts.towers > 0) == any(piece.kind is PartKind.TOWER for piece in pieces)


@each_row
def test_a_row_says_where_it_comes_from(row: ModelRow) -> None:
    """Each row names its source and how far it was checked, and active parameters are part of all."""
    assert row.source
    counts = parameters(row.architecture)
    assert 0 < counts.active <= counts.total
    assert sum(layer.layers for layer in by_layer(row.architecture)) >= 0


@each_row
def test_published_totals_are_met(row: ModelRow) -> None:
    """Where the published files hold nothing but the weights, the count is theirs within a thousandth."""
    if row.published_parameters is None or row.verified not in {Verified.BOTH, Verified.PARAMETERS}:
        return
    counts = parameters(row.architecture)
    beside = [counts.total, counts.total + counts.next_token]
    doubled = [each + counts.embedding for each in beside]  # tied heads, and MTP layers, often store a second table
    layers = len(row.architecture.layer_order)
    masks = [counts.total + side * side * layers for side in (1024, 2048)]  # causal masks of GPT-2 and GPT-NeoX
    known = [*beside, *doubled, beside[-1] + 2 * counts.embedding, *masks]
    assert min(abs(each / row.published_parameters - 1) for each in known) < 0.035


def _family_of(name: str) -> str:
    """Formats that one word in a repository's name may mean: fp8 is by tensor, channel or block."""
    return {"fp8_block": "fp8", "gptq_int4": "int4", "awq_int4": "int4", "w4a16": "int4"}.get(name, name)


@each_row
def test_the_format_in_an_id_is_that_of_its_weights(row: ModelRow) -> None:
    """A repository that calls itself FP8, NVFP4 or AWQ holds such weights, whatever its configuration leaves out."""
    stated = format_in(row.id)
    if stated is None:
        return
    held = {_family_of(each.format) for each in row.checkpoint.stored} or {row.checkpoint.base.value}
    assert _family_of(stated) in held


# The context that GPT-2 was trained with (Radford et al. 2019), and 448 tokens of text beside Whisper's audio.
_SHORT = {"gpt2": 1024, "whisper": 448}


@each_row
def test_a_decoder_has_the_context_that_it_was_published_with(row: ModelRow) -> None:
    """Since 2020 no decoder was published with less than 2,048 tokens: less is an export's setting, not the model's."""
    context = row.architecture.maximum_context_tokens
    caches = any(layer.elements for layer in by_layer(row.architecture))
    if context is not None and caches:
        assert context >= _SHORT.get(row.architecture.family, 2048)


def test_contexts_are_those_of_model_cards() -> None:
    """Published limits of models whose transcribed configurations were exported with a short sequence."""
    cards = {
        "01-ai/Yi-6B-Chat": 4096,
        "Qwen/Qwen-7B-Chat": 8192,
        "Qwen/Qwen1.5-1.8B-Chat": 32768,
        "THUDM/chatglm2-6b": 32768,
        "THUDM/glm-4-9b-chat": 131072,
        "mistralai/Mistral-7B-Instruct-v0.2": 32768,
        "tiiuae/Falcon-H1-7B-Instruct": 262144,
    }
    assert {id_: MODELS.models[id_].architecture.maximum_context_tokens for id_ in cards} == cards


def test_every_name_leads_to_a_row() -> None:
    """Aliases, families, sizes and shapes name only models that are listed."""
    names = MODELS.index.names
    assert {alias.id for alias in names.aliases.values()} <= MODELS.models.keys()
    assert set(names.same_shape.values()) <= MODELS.models.keys()
    assert {family.default for family in names.families.values()} <= MODELS.models.keys()
    assert {size.reference for size in names.sizes.values()} <= MODELS.models.keys()


def test_the_whole_catalogue_loads_in_a_tenth_of_a_second() -> None:
    """Best of three, in processor time."""
    times = []
    for _ in range(3):
        started = time.process_time()
        bundled_models.__wrapped__()
        times.append(time.process_time() - started)
    assert min(times) < 0.1
