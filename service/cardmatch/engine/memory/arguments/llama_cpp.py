"""`llama-server` and `llama-cli`: llama.cpp b11501 common/arg.cpp; the fork's own in its common/common.cpp."""

from __future__ import annotations

from typing import Any

from cardmatch.engine.memory.arguments.found import Found
from cardmatch.engine.memory.arguments.names.ik_llama_cpp import NAMES as FORK_NAMES
from cardmatch.engine.memory.arguments.names.llama_cpp import NAMES
from cardmatch.engine.memory.arguments.table import Flag, Put, Table, Takes, constant, option, words
from cardmatch.engine.memory.arguments.values import integer, switch
from cardmatch.engine.memory.arguments.weights import note_file, note_model
from cardmatch.engine.memory.engines.llama_cpp.eras import MlaEra
from cardmatch.engine.memory.engines.llama_cpp.options import Draft, Variant
from cardmatch.engine.memory.engines.llama_cpp.overrides import TensorOverride, Where
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.units import MIB

_KV_FORMATS = {
    "f32": KvFormat.FP32,
    "f16": KvFormat.FP16,
    "bf16": KvFormat.BF16,
    **{name.value: name for name in KvFormat if name.value.startswith(("q", "iq"))},
}


def _length(found: Found, value: str) -> None:
    """0 takes the model's own."""
    if int(value):
        found.options["n_ctx"] = int(value)


def _layers(found: Found, value: str) -> None:
    """`all`, `auto` and -1 are every layer; so is any figure beyond the model's."""
    if value not in {"all", "auto"} and int(value) >= 0:
        found.options["n_gpu_layers"] = min(int(value), found.layers + 1)


def _flash(found: Found, value: str) -> None:
    word = value.lower() or "on"
    found.options["flash_attention"] = word if word == "auto" else "on" if switch(word) else "off"


def _slots(found: Found, value: str) -> None:
    if int(value) > 0:
        found.options["n_parallel"] = int(value)


def _cache_type(side: str) -> Put:
    def put(found: Found, value: str) -> None:
        found.scratch[side] = _KV_FORMATS[value.lower()]

    return put


def _overrides(found: Found, value: str) -> None:
    """Patterns and where matching tensors go, `<pattern>=<CPU or a device>`, separated by commas."""
    for each in value.split(","):
        pattern, _, place = each.rpartition("=")
        if not pattern:
            raise ValueError(value)
        where = Where.HOST if place.upper().startswith(("CPU", "CUDA_HOST")) else Where.GPU
        found.scratch.setdefault("overrides", []).append(TensorOverride(pattern=pattern, to=where))


def _first_layers(names: str) -> Put:
    """Overrides for the first N layers, as -ncffn writes them."""

    def put(found: Found, value: str) -> None:
        layers = "|".join(str(layer) for layer in range(min(int(value), found.layers)))
        if layers:
            _add_override(found, rf"^blk\.({layers})\.{names}")

    return put


def _add_override(found: Found, pattern: str) -> None:
    found.scratch.setdefault("overrides", []).append(TensorOverride(pattern=pattern))


def _margin(found: Found, value: str) -> None:
    found.options["fit_target_bytes"] = max(int(part) for part in value.split(",")) * MIB


def _shares(value: str) -> tuple[float, ...]:
    return tuple(float(part) for part in value.replace("/", ",").split(",") if part)


def _draft(found: Found, value: str) -> None:
    if "draft-mtp" in value:
        found.options["draft"] = Draft.MTP
    elif value.startswith("draft"):
        found.not_considered.append(f"--spec-type {value}")


def _mla(found: Found, value: str) -> None:
    """0 caches whole heads, 1 the latents twice, 2 and 3 once."""
    found.options["mla"] = (MlaEra.EXPANDED, MlaEra.KEYS_AND_VALUES, MlaEra.KEYS_ONLY, MlaEra.KEYS_ONLY)[int(value)]
    found.options["variant"] = Variant.IK


def _split(found: Found, value: str) -> None:
    if value == "graph":
        found.not_considered.append("--split-mode graph")
    elif value == "tensor":
        found.options["split_mode"] = "row"
    else:
        found.options["split_mode"] = value


def _load_mode(found: Found, value: str) -> None:
    found.options["mmap"] = "mmap" in value or value == "auto"


EFFECTIVE = {
    "--ctx-size": Flag(_length),
    "--batch-size": Flag(option("n_batch", integer)),
    "--ubatch-size": Flag(option("n_ubatch", integer)),
    "--parallel": Flag(_slots),
    "--kv-unified": constant("kv_unified", value=True),
    "--no-kv-unified": constant("kv_unified", value=False),
    "--swa-full": constant("swa_full", value=True),
    "--flash-attn": Flag(_flash, Takes.MAYBE),
    "--no-flash-attn": Flag(lambda found, _: found.options.update(flash_attention="off"), Takes.NOTHING),
    "--kv-offload": constant("kv_offload", value=True),
    "--no-kv-offload": constant("kv_offload", value=False),
    "--op-offload": constant("op_offload", value=True),
    "--no-op-offload": constant("op_offload", value=False),
    "--gpu-layers": Flag(_layers),
    "--cpu-moe": constant("experts_on_host", value=True),
    "--n-cpu-moe": Flag(option("n_cpu_moe", integer)),
    "--n-cpu-ffn": Flag(_first_layers("ffn_(gate|up|down)\\.")),
    "--override-tensor": Flag(_overrides),
    "--split-mode": Flag(_split),
    "--tensor-split": Flag(option("tensor_split", _shares)),
    "--cache-type-k": Flag(_cache_type("k")),
    "--cache-type-v": Flag(_cache_type("v")),
    "--fit": Flag(option("fit", switch)),
    "--fit-target": Flag(_margin),
    "--mmproj": constant("mmproj", value=True),
    "--mmproj-url": constant("mmproj", value=True),
    "--no-mmproj-offload": constant("mmproj", value=False),
    "--no-mmproj": constant("mmproj", value=False),
    "--no-mmap": constant("mmap", value=False),
    "--load-mode": Flag(_load_mode),
    "--spec-type": Flag(_draft),
    "--spec-draft-n-max": Flag(option("draft_tokens", integer)),
    "--mla-use": Flag(_mla),
    "--fused-moe": Flag(lambda found, _: found.options.update(variant=Variant.IK), Takes.NOTHING),
    "--attention-max-batch": Flag(lambda found, _: found.options.update(variant=Variant.IK)),
    "--model": Flag(note_file),
    "--model-url": Flag(note_file),
    "--hf-file": Flag(note_file),
    "--hf-repo": Flag(lambda found, value: found.scratch.update(repository=value)),
    "--run-time-repack": Flag(lambda found, _: found.options.update(variant=Variant.IK), Takes.NOTHING),
}
_ALIASES = {
    "-c": "--ctx-size",
    "-b": "--batch-size",
    "-ub": "--ubatch-size",
    "-np": "--parallel",
    "-kvu": "--kv-unified",
    "-no-kvu": "--no-kv-unified",
    "-fa": "--flash-attn",
    "-no-fa": "--no-flash-attn",
    "-kvo": "--kv-offload",
    "-nkvo": "--no-kv-offload",
    "-ngl": "--gpu-layers",
    "--n-gpu-layers": "--gpu-layers",
    "-cmoe": "--cpu-moe",
    "-ncmoe": "--n-cpu-moe",
    "-ncffn": "--n-cpu-ffn",
    "-ot": "--override-tensor",
    "-sm": "--split-mode",
    "-ts": "--tensor-split",
    "-ctk": "--cache-type-k",
    "-ctv": "--cache-type-v",
    "-fit": "--fit",
    "-fitt": "--fit-target",
    "-mm": "--mmproj",
    "-mmu": "--mmproj-url",
    "-lm": "--load-mode",
    "--draft-max": "--spec-draft-n-max",
    "--draft": "--spec-draft-n-max",
    "--draft-n": "--spec-draft-n-max",
    "-m": "--model",
    "-mu": "--model-url",
    "-hf": "--hf-repo",
    "-hfr": "--hf-repo",
    "-hff": "--hf-file",
    "-mla": "--mla-use",
    "-fmoe": "--fused-moe",
    "-amb": "--attention-max-batch",
    "-rtr": "--run-time-repack",
    "--no-mmproj-auto": "--no-mmproj",
}
_NOT_CONSIDERED = words(
    """
    --model-draft -md --hf-repo-draft -hfd --lora --lora-scaled --control-vector --rpc --device -dev --main-gpu -mg
    --cache-ram -cram --ctx-checkpoints --moe-cache-mib --image-max-tokens --spec-draft-model --override-kv
    --kv-unified-per-slot --mmproj-device --embedding --embeddings --rerank --reranking
    """
)
_KNOWN = NAMES | FORK_NAMES
TABLE = Table(
    engine="llama_cpp",
    effective=EFFECTIVE,
    without_effect=_KNOWN - EFFECTIVE.keys() - _ALIASES.keys() - _NOT_CONSIDERED,
    not_considered=_NOT_CONSIDERED,
    spelling=lambda written: _ALIASES.get(written, written),
)


def finish(found: Found, environment: dict[str, str]) -> None:
    """Cache types of both sides, overrides in order, and the environment variables that stand for options."""
    del environment
    found.options.update(_gathered(found.scratch))
    if repository := found.scratch.get("repository"):
        note_model(found, repository)
    sides = {side: found.scratch.get(side, KvFormat.FP16) for side in ("k", "v")}
    if "k" in found.scratch or "v" in found.scratch:
        found.workload["kv_cache"] = sides["k"] if sides["k"] is sides["v"] else KvFormats(**sides)


def _gathered(scratch: dict[str, Any]) -> dict[str, Any]:
    return {"override_tensors": tuple(scratch["overrides"])} if scratch.get("overrides") else {}
