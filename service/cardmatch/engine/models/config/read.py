"""From a config.json to an architecture: which dialect it is written in, and which reader takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cardmatch.engine.models.architecture import Architecture
from cardmatch.engine.models.config.compressed import read_compressed
from cardmatch.engine.models.config.convolution import read_convolution
from cardmatch.engine.models.config.decoder import read_decoder, read_falcon
from cardmatch.engine.models.config.dialects import Dialects, Family
from cardmatch.engine.models.config.encoder import read_encoder
from cardmatch.engine.models.config.encoder_decoder import read_t5, read_whisper
from cardmatch.engine.models.config.gated_delta import read_gated_delta
from cardmatch.engine.models.config.gemma import read_gemma_four, read_gemma_three_n
from cardmatch.engine.models.config.hybrid import read_hybrid
from cardmatch.engine.models.config.keys import Keys, wrong_type
from cardmatch.engine.models.config.latent import read_latent, read_longcat
from cardmatch.engine.models.config.linear_attention import read_kimi_linear, read_lightning
from cardmatch.engine.models.config.llama_four import read_llama_four, read_mllama
from cardmatch.engine.models.config.mamba import read_mamba
from cardmatch.engine.models.config.nemotron import read_nemotron_h, read_nemotron_nas
from cardmatch.engine.models.config.towers import Recipe, read_towers
from cardmatch.engine.models.config.two_shapes import read_two_shapes
from cardmatch.engine.models.parameters import parameters
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

Reader = Callable[[Keys, Family], Architecture]

READERS: dict[str, Reader] = {
    "decoder": read_decoder,
    "falcon": read_falcon,
    "latent": read_latent,
    "longcat": read_longcat,
    "gated_delta": read_gated_delta,
    "mamba": read_mamba,
    "hybrid": read_hybrid,
    "nemotron_h": read_nemotron_h,
    "nemotron_nas": read_nemotron_nas,
    "convolution": read_convolution,
    "lightning": read_lightning,
    "kimi_linear": read_kimi_linear,
    "llama_four": read_llama_four,
    "mllama": read_mllama,
    "gemma_four": read_gemma_four,
    "gemma_three_n": read_gemma_three_n,
    "two_shapes": read_two_shapes,
    "compressed": read_compressed,
    "encoder": read_encoder,
    "t5": read_t5,
    "whisper": read_whisper,
}
_MOST_PARAMETERS = 10**14
# What the size of a model hangs on, most first.
_SIZES = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"),
    *("moe_intermediate_size", "num_experts", "num_experts_per_tok"),
    *("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"),
)
# What is said to have been assumed, beside those.
_SMALLER = ("num_key_value_heads", "head_dim", "n_shared_experts", "shared_expert_intermediate_size")


class Described(msgspec.Struct, frozen=True):
    """An architecture, and the sizes that its config left to the class, by JSON pointer."""

    architecture: Architecture
    assumed: dict[str, int]


def read_config(config: Mapping[str, Any], dialects: Dialects, *, complete: bool = True) -> Architecture:
    """The architecture that *config* describes, as `describe_config` reads it. Raises Invalid."""
    return describe_config(config, dialects, complete=complete).architecture


def describe_config(config: Mapping[str, Any], dialects: Dialects, *, complete: bool = True) -> Described:
    """The architecture that *config* describes, and what its class filled in.

    A *complete* config says every size that the model's size hangs on, but for those that its family is known to omit.
    Raises Invalid, naming the key that is wrong or missing, or the unknown type.
    """
    if not isinstance(config, Mapping):
        wrong_type(config, "", "object")
    name, family = _family(config, dialects)
    keys = Keys(config, names={**dialects.names, **family.names}, defaults=family.defaults)
    text, text_family = _text(keys, family, dialects)
    found = READERS[text_family.reader](text, text_family)
    if complete:
        _complete(text, {*family.omits, *text_family.omits})
    architecture = msgspec.structs.replace(
        found,
        family=name,
        tied_embeddings=_tied(keys, text, family, text_family),
        output_head=found.output_head
        and _has_head(keys, (*family.classes, *text_family.classes), headless=text_family.headless),
        towers=(*found.towers, *read_towers(keys, _recipes(keys, family, dialects), found.hidden_size)),
    )
    total = parameters(architecture).total
    if total > _MOST_PARAMETERS:
        raise Invalid(Fault(code=FaultCode.TOO_LARGE, pointer="", params={"maximum": _MOST_PARAMETERS}))
    assumed = {text.at(size): value for size, value in text.assumed.items() if size in (*_SIZES, *_SMALLER)}
    return Described(architecture, assumed)


def _complete(keys: Keys, omitted: set[str]) -> None:
    """Refuse a config that was cut short: what no published one leaves out was filled in from the class."""
    missing = [size for size in _SIZES if size in keys.assumed and size not in omitted]
    if missing:
        raise Invalid(
            *(Fault(code=FaultCode.MISSING_FIELD, pointer=keys.pointer, params={"field": size}) for size in missing)
        )


def _family(config: Mapping[str, Any], dialects: Dialects) -> tuple[str, Family]:
    """The family by `model_type`, or by class name where the type is missing."""
    name = config.get("model_type") or None
    if name is None:
        classes = config.get("architectures")
        first = classes[0] if isinstance(classes, list) and classes else None
        name = dialects.by_class.get(first) if isinstance(first, str) else None
        if name is None and isinstance(first, str) and first:
            raise _unknown(first, "/model_type")
        if name is None:
            raise Invalid(Fault(code=FaultCode.MISSING_FIELD, pointer="", params={"field": "model_type"}))
    if not isinstance(name, str):
        wrong_type(name, "/model_type", "string")
    family = dialects.families.get(name)
    if family is None:
        raise _unknown(name, "/model_type")
    return name, family


def _recipes(keys: Keys, family: Family, dialects: Dialects) -> tuple[Recipe, ...]:
    """The family's towers, which `vision_config.model_type` may change."""
    vision = keys.within("vision_config") if family.by_tower else None
    names = family.by_tower.get(vision.text("model_type"), family.towers) if vision else family.towers
    return tuple(dialects.towers[name] for name in names)


def _unknown(name: str, pointer: str) -> Invalid:
    return Invalid(Fault(code=FaultCode.UNKNOWN_ARCHITECTURE, pointer=pointer, params={"architecture": name[:64]}))


def _text(keys: Keys, family: Family, dialects: Dialects) -> tuple[Keys, Family]:
    """The language model's own keys and family, where they lie in an object of their own."""
    for path in family.nested:
        inner: Keys | None = keys
        for step in path.split("/"):
            inner = inner.within(step) if inner else None
        if inner is None:
            continue
        found = _inner_family(inner, family, dialects)
        text = Keys(
            inner.values, pointer=inner.pointer, names={**dialects.names, **found.names}, defaults=found.defaults
        )
        return text, found
    if family.text:
        found = dialects.families[_flat_text(keys, family)]
        return Keys(keys.values, names={**dialects.names, **found.names}, defaults=found.defaults), found
    return keys, family


def _inner_family(inner: Keys, family: Family, dialects: Dialects) -> Family:
    """The family of a nested language model: its own `model_type` where that is one, else what the outer type holds."""
    kind = inner.text("model_type")
    named = dialects.families.get(family.text_for.get(kind, kind))
    if named is not None and not named.nested:
        return named
    if not family.text:
        raise _unknown(kind, inner.at("model_type"))
    return dialects.families[family.text]


def _flat_text(keys: Keys, family: Family) -> str:
    """Which language model a flat config holds; some say it by their version (MiniCPM-V)."""
    for key, choices in family.text_if.items():
        found = keys.find(key)
        if found is not None and str(found[1])[:16] in choices:
            return choices[str(found[1])]
    return family.text


def _tied(keys: Keys, text: Keys, family: Family, text_family: Family) -> bool:
    """Whether the head is the embedding: the outer config decides where both speak, the class where neither does."""
    own = text.find("tie_word_embeddings") if text is not keys else None
    outer = keys.find("tie_word_embeddings")
    for found, of in ((outer, keys), (own, text)):
        if found is not None and not isinstance(found[1], bool):
            wrong_type(found[1], of.at(found[0]), "boolean")
    if outer is not None:
        return bool(outer[1])
    if own is not None:
        return bool(own[1])
    return family.tied or text_family.tied


def _has_head(keys: Keys, classes: tuple[str, ...], *, headless: bool) -> bool:
    """Checkpoints of a bare model class (sentence embeddings) have no output head."""
    if headless:
        return False
    found = keys.find("architectures")
    if found is None:
        return True
    key, names = found
    if not isinstance(names, list):
        wrong_type(names, keys.at(key), "array")
    name = names[0] if names else ""
    if not isinstance(name, str):
        wrong_type(name, f"{keys.at(key)}/0", "string")
    bare = name.endswith("Model") and not name.endswith("LMHeadModel") and "For" not in name
    return not bare or name in classes
