"""Which quantisation the name of a GGUF file, of a repository or of a tag gives away."""

from __future__ import annotations

import re

from cardmatch.engine.memory.arguments.found import Found
from cardmatch.engine.models.gguf_mix import mix_name

USUAL = "gguf:Q4_K_M"
"""What llama.cpp's -hf, Ollama's library and LM Studio load where a name does not say another."""

_LABEL = re.compile(
    r"(?<![A-Z0-9])((?:UD-)?(?:I?Q|TQ)\d(?:_[A-Z0-9]+)*|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32)(?![A-Z0-9])", re.IGNORECASE
)


def named_weights(name: str) -> str | None:
    """The format that *name* ends on: `gguf:Q6_K` of `Qwen3-8B-Q6_K.gguf`; None where it names none."""
    labels = (label for label in reversed(_LABEL.findall(name)) if mix_name(label))
    return next((f"gguf:{label.upper()}" for label in labels), None)


def note_file(found: Found, name: str) -> None:
    """A file: what its name says, nothing where it says nothing."""
    if weights := named_weights(name):
        found.workload["weights_if_plain"] = weights


def note_model(found: Found, name: str) -> None:
    """A model of a library, with what its tag says or else the usual; only the first that is named counts."""
    if "weights_if_plain" in found.workload or "model" in found.scratch:
        return
    found.scratch["model"] = name
    weights = named_weights(name)
    found.workload["weights_if_plain"] = weights or USUAL
    if weights is None:
        found.assumed["weights"] = USUAL
