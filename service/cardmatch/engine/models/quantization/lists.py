"""Lists of module names and the cache format, which all dialects spell in a few ways."""

from __future__ import annotations

from cardmatch.engine.models.config.keys import Keys, wrong_type
from cardmatch.engine.models.kv_formats import KvFormat

_MOST = 1 << 16
_SPARED = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "modules_to_not_quantize")
_CACHE = {"FP8": KvFormat.FP8_E4M3, "NVFP4": KvFormat.NVFP4, "INT8": KvFormat.INT8}


def strings(keys: Keys, name: str) -> tuple[str, ...]:
    """An array of strings, or nothing."""
    found = keys.array(name, most=_MOST)
    if found is None:
        return ()
    pointer, items = found
    for index, item in enumerate(items):
        if not isinstance(item, str):
            wrong_type(item, f"{pointer}/{index}", "string")
    return tuple(items)


def spared_modules(keys: Keys) -> tuple[str, ...]:
    """Modules that are not quantised, under whichever name the tool lists them."""
    return tuple(module for name in _SPARED for module in strings(keys, name))


def kv_scheme(keys: Keys) -> KvFormat | None:
    """The cache format that a checkpoint declares."""
    algorithm = keys.find("kv_cache_quant_algo")
    if algorithm is not None:
        return _CACHE.get(keys.text("kv_cache_quant_algo").upper())
    found = keys.find("kv_cache_scheme")
    if found is None:
        return None
    if isinstance(found[1], str):
        return _CACHE.get(found[1].upper())
    scheme = keys.within("kv_cache_scheme")
    if scheme is None:
        return None
    bits, kind = scheme.size("num_bits", 8, low=1, high=16), scheme.text("type", "float")
    if bits == 8:
        return KvFormat.FP8_E4M3 if kind == "float" else KvFormat.INT8
    return KvFormat.NVFP4 if bits == 4 and kind == "float" else None
