"""What nvidia-smi will show for a Transformers process."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.terms.units import Bytes


class TransformersReserves(msgspec.Struct, tag="transformers", tag_field="engine", frozen=True, kw_only=True):
    """Figures of torch's allocator and of the process, per GPU."""

    version: str
    model_bytes: Annotated[Bytes, Meta(description="`model.get_memory_footprint()`.")]
    kv_cache_bytes: Annotated[Bytes, Meta(description="The cache at the end of the batch.")]
    held_bytes: Annotated[Bytes, Meta(description="`torch.cuda.memory_allocated()` when generation ends.")]
    process_bytes: Annotated[Bytes, Meta(description="What nvidia-smi shows at most, CUDA context included.")]
