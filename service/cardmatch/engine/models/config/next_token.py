"""Multi-token-prediction layers, which checkpoints carry behind the last layer."""

from __future__ import annotations

from cardmatch.engine.models.architecture import LayerGroup, NextTokenLayers
from cardmatch.engine.models.config.keys import Keys

_MOST = 16


def read_next_token(keys: Keys, group: LayerGroup, hidden: int, *, norms: int = 3) -> NextTokenLayers | None:
    """As many layers like *group* as the config declares, each behind a projection of two hidden vectors into one.

    DeepSeek-V3 §2.2: the projection and *norms* vectors; embedding and head are the model's own.
    """
    layers = keys.size("num_nextn_predict_layers", 0, low=0, high=_MOST)
    if not layers:
        return None
    extra = layers * (2 * hidden * hidden + norms * hidden)
    return NextTokenLayers(layers=layers, group=group, extra_parameters=extra)
