"""Which layers see only a window of earlier tokens."""

from __future__ import annotations

from cardmatch.engine.models.config.dialects import Family
from cardmatch.engine.models.config.keys import Keys, wrong_type, wrong_value
from cardmatch.engine.models.config.shape import MOST_CONTEXT, MOST_LAYERS

LAYER_TYPES = {
    "full_attention": "full_attention",
    "attention": "full_attention",
    "global_attention": "full_attention",
    "sliding_attention": "sliding_attention",
    "sliding_window_attention": "sliding_attention",
    "local_attention": "sliding_attention",
    "chunked_attention": "chunked_attention",
    "linear_attention": "linear_attention",
    "mamba": "mamba",
    "mamba2": "mamba",
    "conv": "conv",
    "hybrid": "hybrid",
    "moe": "moe",
    "mlp": "mlp",
}


def read_layer_types(keys: Keys, layers: int, allowed: tuple[str, ...]) -> list[str] | None:
    """`layer_types` in one spelling, one of *allowed* for each of *layers*, or None where the key is absent."""
    found = keys.array("layer_types", length=layers)
    if found is None:
        return None
    pointer, items = found
    kinds = []
    for index, item in enumerate(items):
        if not isinstance(item, str):
            wrong_type(item, f"{pointer}/{index}", "string")
        kind = LAYER_TYPES.get(item, item)
        if kind == "linear_attention" and kind not in allowed:  # transformers 5 calls every recurrent layer so
            kind = next((each for each in allowed if each in {"mamba", "conv"}), kind)
        if kind not in allowed:
            wrong_value(item, f"{pointer}/{index}", allowed)
        kinds.append(kind)
    return kinds


def read_windows(keys: Keys, family: Family, layers: int) -> list[int | None]:
    """For each layer the tokens it sees, or None for all of them. Raises Invalid."""
    window = _window(keys, family)
    if family.window == "none" or window is None:
        return [None] * layers
    kinds = read_layer_types(keys, layers, ("full_attention", "sliding_attention"))
    if kinds is not None:
        return [window if kind == "sliding_attention" else None for kind in kinds]
    if family.window == "always":
        return [window] * layers
    if family.window == "below_context":
        context = keys.size("max_position_embeddings", MOST_CONTEXT, high=MOST_CONTEXT)
        return [window if window < context else None] * layers
    if family.window == "from_layer":
        first = keys.size("max_window_layers", layers, low=0, high=MOST_LAYERS)
        return [window if layer >= first else None for layer in range(layers)]
    if family.window == "pattern":
        return [window if slides else None for slides in _pattern(keys, family, layers)]
    return [None] * layers


def _window(keys: Keys, family: Family) -> int | None:
    """Window size where windows are on: null turns them off, and so does `use_sliding_window: false`."""
    if keys.null("sliding_window") or not keys.flag("use_sliding_window", fallback=True):
        return None
    low = 1 if family.pattern else 0  # where layers alternate, a window of nothing turns nothing off
    return keys.maybe("sliding_window", low=low, high=MOST_CONTEXT) or None


def _pattern(keys: Keys, family: Family, layers: int) -> list[bool]:
    """For each layer whether it slides: every n-th sees all, or letters repeat (`L` and `S` slide)."""
    pattern = family.pattern
    found = keys.find("sliding_window_pattern")
    if found is not None:
        key, value = found
        if isinstance(value, str):
            pattern = value
            if not pattern or set(pattern) - set("LSGF"):
                wrong_value(value, keys.at(key), ("LLLG",))
        else:
            period = keys.size("sliding_window_pattern", high=MOST_LAYERS)
            return [(layer + 1) % period != 0 for layer in range(layers)]
    return [pattern[layer % len(pattern)] in "LS" for layer in range(layers)]
