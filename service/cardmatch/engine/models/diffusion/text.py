"""Text encoders of pipelines: CLIP, T5 and whole language models; and the safety checker's image encoder."""

from __future__ import annotations

from cardmatch.engine.models.architecture import Architecture, Dense
from cardmatch.engine.models.config.keys import Keys
from cardmatch.engine.models.diffusion.component import Extra, TextEncoder
from cardmatch.engine.models.diffusion.counting import attention, linear, norm, perceptron
from cardmatch.engine.models.parameters import embedding_parameters, parameters

_WIDE = 1 << 16
_T5_TOKENS, _LLM_TOKENS = 512, 512


def read_clip(keys: Keys) -> TextEncoder:
    """CLIPTextModel, with a projection where the class says so (transformers, modeling_clip.py). Raises Invalid."""
    width, layers = keys.size("hidden_size", high=_WIDE), keys.size("num_hidden_layers", high=4096)
    inner, tokens = keys.size("intermediate_size", 4 * width), keys.size("max_position_embeddings", 77, high=1 << 16)
    table = keys.size("vocab_size", 49408) * width
    total = table + tokens * width + layers * _layer(width, inner) + norm(width)
    found = keys.array("architectures")
    if found is not None and found[1] == ["CLIPTextModelWithProjection"]:
        total += linear(width, keys.size("projection_dim", high=_WIDE), bias=False)
    return TextEncoder(
        parameters=total,
        block_parameters=_layer(width, inner),
        matrix_parameters=table,
        width=width,
        layers=layers,
        tokens=tokens,
        embedding_parameters=table + tokens * width,
    )


def _layer(width: int, inner: int) -> int:
    return attention(width) + perceptron(width, inner, width) + 2 * norm(width)


def read_safety_checker(keys: Keys) -> Extra:
    """StableDiffusionSafetyChecker: CLIP's image encoder, a projection and the embeddings of 20 concepts."""
    vision = keys.within("vision_config")
    if vision is None:
        keys.missing("vision_config")
    width, layers = vision.size("hidden_size", high=_WIDE), vision.size("num_hidden_layers", high=4096)
    inner, patch = vision.size("intermediate_size", 4 * width), vision.size("patch_size", 14, high=1024)
    cells = (vision.size("image_size", 224, high=1 << 14) // patch) ** 2
    projected = keys.size("projection_dim", 768, high=_WIDE)
    total = 3 * patch * patch * width + (cells + 2) * width + 2 * norm(width) + layers * _layer(width, inner)
    total += width * projected + 20 * (projected + 1)
    return Extra(parameters=total, block_parameters=_layer(width, inner), matrix_parameters=width * inner)


def text_encoder(architecture: Architecture) -> TextEncoder:
    """A language model (T5, ChatGLM, Qwen2.5-VL) as the text encoder of a pipeline."""
    counts, layers = parameters(architecture), len(architecture.layer_order)
    embedding = embedding_parameters(architecture)
    dense = [block for group in architecture.layer_groups for block in group.blocks if isinstance(block, Dense)]
    inner = max((block.width for block in dense), default=4 * architecture.hidden_size)
    wide = layers * inner * architecture.hidden_size if architecture.family == "t5" else 0
    return TextEncoder(
        parameters=counts.total,
        block_parameters=(counts.total - embedding - counts.head - counts.towers) // max(layers, 1),
        matrix_parameters=max(embedding, inner * architecture.hidden_size),
        width=architecture.hidden_size,
        layers=max(layers, 1),
        tokens=_T5_TOKENS if architecture.family == "t5" else _LLM_TOKENS,
        embedding_parameters=embedding + counts.head + counts.towers,
        wide_parameters=wide,
    )
