"""Formats that an engine can change weights and cache to, least change first."""

from __future__ import annotations

from cardmatch.engine.memory.engines.registry import LLAMA_CPP_KIN, AnyEngine
from cardmatch.engine.memory.engines.transformers.options import Transformers
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.memory.supported import capability_of, keeps_cache, takes_weights
from cardmatch.engine.models.kv_formats import KvFormat

_GGUF_WEIGHTS = ("gguf:Q8_0", "gguf:Q6_K", "gguf:Q5_K_M", "gguf:Q4_K_M", "gguf:IQ4_XS", "gguf:Q3_K_M", "gguf:IQ2_M")
_TORCH_WEIGHTS = ("int8", "nf4")
_SERVER_WEIGHTS = ("fp8", "int8", "awq_int4", "nvfp4")
_SINCE = {"fp8": (8, 9), "nvfp4": (10, 0)}
"""Compute capability from which a card multiplies the format natively."""


def weight_formats(engine: AnyEngine, device: Device) -> tuple[str, ...]:
    """Largest first. 8-bit floats only where the card multiplies them; anything else is unpacked on the way."""
    if isinstance(engine, LLAMA_CPP_KIN):
        return _GGUF_WEIGHTS
    if isinstance(engine, Transformers):
        return _TORCH_WEIGHTS
    return tuple(name for name in _SERVER_WEIGHTS if takes_weights(engine, name) and _runs(name, device))


def cache_formats(engine: AnyEngine, device: Device) -> tuple[KvFormat, ...]:
    """Largest first, of those that the engine keeps on the card; Transformers' cache is in the model's own type."""
    if isinstance(engine, LLAMA_CPP_KIN):
        return KvFormat.Q8_0, KvFormat.Q4_0
    if isinstance(engine, Transformers) or not keeps_cache(engine, KvFormat.FP8_E4M3, device):
        return ()
    return (KvFormat.FP8_E4M3,)


def _runs(name: str, device: Device) -> bool:
    since, capability = _SINCE.get(name), capability_of(device)
    return since is None or (capability is not None and capability >= since)
