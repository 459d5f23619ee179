"""Weights that vLLM's kernels store larger than the checkpoint: MXFP4 experts padded to the tiles of each backend.

Sources: vllm v0.33.0 model_executor/layers/fused_moe/oracle/mxfp4.py, v0.11.0 quantization/mxfp4.py. gpt-oss-120b,
whose experts are 2,880 wide, takes 64.4 GiB on Hopper (Triton) and 66.0 on Ampere (Marlin) where its file has 60.8.
"""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.placement import Device
from cardmatch.engine.models.architecture import Architecture, Experts
from cardmatch.engine.models.checkpoint import Checkpoint, format_of
from cardmatch.engine.models.linears import PartKind


class Tiles(NamedTuple):
    """Multiples that the width that experts see and the width of each rank's part of them are rounded up to."""

    seen: int
    width: int


MARLIN = Tiles(256, 128)
TRITON = Tiles(256, 64)
TRTLLM = Tiles(256, 128)
ROCM = Tiles(256, 256)
_MXFP4 = "mxfp4"


def expert_growth(architecture: Architecture, checkpoint: Checkpoint, device: Device, layout: Layout) -> float:
    """What the bytes of the routed experts grow by on *device*; 1 where they are stored as they are."""
    block = _experts(architecture)
    if block is None or format_of(checkpoint, PartKind.EXPERTS) != _MXFP4:
        return 1.0
    tiles = _tiles(device)
    seen = block.input_size or architecture.hidden_size
    width = block.width if layout.expert > 1 else -(-block.width // layout.tensor)
    padded = _rounded(seen, tiles.seen) * _rounded(width, tiles.width)
    whole = block.width if layout.expert > 1 else block.width / layout.tensor
    return padded / (seen * whole)


def _experts(architecture: Architecture) -> Experts | None:
    blocks = (block for group in architecture.layer_groups for block in group.blocks)
    return next((block for block in blocks if isinstance(block, Experts)), None)


def _tiles(device: Device) -> Tiles:
    """The backend that is chosen by default: Triton on Hopper, TRT-LLM's on Blackwell, Marlin elsewhere."""
    if device.vendor == "amd":
        return ROCM
    return {"9": TRITON, "10": TRTLLM}.get((device.compute_capability or "").split(".")[0], MARLIN)


def _rounded(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
