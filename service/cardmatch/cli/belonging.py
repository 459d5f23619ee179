"""Which options of `cardmatch estimate` go with which kind of workload; others would change nothing, so are refused."""

from __future__ import annotations

import argparse

from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_SERVING = frozenset({"context", "concurrency", "mean_tokens", "engine", "engine_args", "weights", "kv_cache"})
_TUNING = frozenset({"train", "precision", "optimizer", "rank", "checkpointing", "offload"})
OPTIONS: dict[str, frozenset[str]] = {
    "inference": _SERVING,
    "training": _TUNING
    | {"framework", "sequence", "micro_batch", "accumulate", "targets", "fused_loss", "packing", "sharding", "weights"},
    "diffusion": _TUNING | {"image", "frames", "batch", "format", "vae_tiling", "vae_slicing", "no_guidance"},
    "encode": frozenset({"encode", "batch", "sequence", "audio_seconds", "beams", "weights"}),
}
"""Names of the arguments, by kind of workload."""
_PASSED_ON: dict[str, frozenset[str]] = {
    "training": frozenset({"context", "concurrency", "mean_tokens", "kv_cache"}),
    "diffusion": frozenset({"context", "concurrency", "sequence", "micro_batch", "weights", "kv_cache"}),
    "encode": frozenset({"context", "concurrency", "kv_cache"}),
}
"""These stand in the request, which is then refused with their names there."""
_ASKED_BY = {"training": "--train", "diffusion": "--image", "encode": "--encode"}


def check(arguments: argparse.Namespace, kind: str) -> None:
    """Refuse options that a workload of *kind* does not read. Raises Invalid with one fault for each, at its flag."""
    ours = OPTIONS[kind] | _PASSED_ON.get(kind, frozenset())
    others = sorted(frozenset().union(*OPTIONS.values()) - ours)
    given = [name for name in others if getattr(arguments, name) is not None and getattr(arguments, name) is not False]
    faults = [_fault(name, kind) for name in given]
    if faults:
        raise Invalid(*faults)


def _fault(name: str, kind: str) -> Fault:
    kinds = [other for other, names in OPTIONS.items() if name in names]
    known = [_ASKED_BY[other] for other in kinds if other in _ASKED_BY] or kinds
    return Fault(
        code=FaultCode.OPTION_OF_OTHER_KIND,
        pointer=f"--{name.replace('_', '-')}",
        params={"kind": kind, "known": known},
    )
