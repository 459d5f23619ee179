"""The number format that a repository's name carries."""

from __future__ import annotations

import re

from cardmatch.engine.models.gguf_mix import mix_name

# What mirrors put behind a model's name for the format that they store it in, most specific first.
_FORMATS: tuple[tuple[str, str], ...] = (
    (r"gptq[-_ ]?(int)?8(bit)?|8bit[-_ ]gptq", "gptq_int8"),
    (r"gptq([-_ ]?(int)?4(bit)?)?|4bit[-_ ]gptq", "gptq_int4"),
    (r"awq([-_ ]?(int)?4(bit)?)?|4bit[-_ ]awq", "awq_int4"),
    (r"(unsloth[-_ ])?bnb[-_ ]4bit|nf4", "nf4"),
    (r"bnb[-_ ]8bit|int8|w8a8|8[-_ ]?bits?", "int8"),
    (r"fp8[-_ ]dynamic|fp8|w8a8[-_ ]fp8", "fp8"),
    (r"(quantized[.])?w4a16|int4|4[-_ ]?bits?", "w4a16"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16|f16", "fp16"),
)
_SUFFIXES = tuple((re.compile(rf"[-_ .]({pattern})$", re.IGNORECASE), name) for pattern, name in _FORMATS)
_INSIDE = tuple((re.compile(rf"[-_ .]({pattern})(?=[-_ .]|$)", re.IGNORECASE), name) for pattern, name in _FORMATS)
_GGUF = re.compile(r"[-_ .](i\d-)?gguf$", re.IGNORECASE)
_GGUF_TYPE = re.compile(r"[-_ .:]((?:ud-)?i?q\d(?:_[0-9a-z]+){0,3}|mxfp4_moe)$", re.IGNORECASE)
# A repository of GGUF files holds several types; this is the one that tools download when nothing else is said.
_USUAL_GGUF = "gguf:Q4_K_M"


def without_format(name: str) -> tuple[str, str | None]:
    """*name* without the format behind it, and that format."""
    bare = _GGUF.sub("", name)
    stated = _GGUF_TYPE.search(bare)
    if stated is not None and stated.start() > 0 and mix_name(stated[1]) is not None:
        return _GGUF.sub("", bare[: stated.start()]), f"gguf:{stated[1].upper()}"
    if bare != name:
        return bare, _USUAL_GGUF
    for pattern, weights in _SUFFIXES:
        bare = pattern.sub("", name)
        if bare != name:
            return bare, weights
    return name, None


def format_in(name: str) -> str | None:
    """The format that a repository's *name* says, at its end or inside it (`…-BF16-abliterated`); None for none."""
    _, weights = without_format(name)
    if weights is not None:
        return weights
    last = name.rpartition("/")[2]
    return next((weights for pattern, weights in _INSIDE if pattern.search(last)), None)
