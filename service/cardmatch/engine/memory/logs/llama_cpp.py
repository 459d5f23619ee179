"""llama.cpp's log lines, bare or inside those of Ollama and LM Studio. Sources: src/llama-context.cpp,
llama-kv-cache.cpp, llama-memory-recurrent.cpp, llama-model.cpp (b11501) and what builds since 2024 print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from cardmatch.engine.memory.logs.logged import LogError, Logged, Trouble
from cardmatch.engine.memory.logs.scan import first, lines_with, number
from cardmatch.engine.models.ggml import FILE_TYPES
from cardmatch.engine.models.gguf_mix import mix_name
from cardmatch.engine.models.kv_formats import KvFormat, KvFormats
from cardmatch.engine.terms.units import GIB, MIB

MARKS = ("llama_", "load_tensors", "ggml_", "llm_load", "KV buffer size", "compute buffer size")
_BUFFER = re.compile(r"([A-Za-z]+\d*(?:_\w+)?) +(?:(model|KV|RS|compute|output) )?buffer size += +([\d.]+) MiB")
_SPLIT_WINDOWS = re.compile(r"creating (non-SWA|    SWA|SWA) KV cache|creating +(main|indexer|lid) +KV cache")
_HOST = re.compile(r"^(?:CPU|CUDA_Host|ROCm_Host|Vulkan_Host|Host|BLAS)")
_LOADS = re.compile(r"llama_model_loader: loaded meta data|loading model '|clip_model_load|clip_ctx:|mtmd_")
_SETTINGS = {
    "n_ctx": re.compile(r"\bn_ctx +[=:] +(\d+)"),
    "n_batch": re.compile(r"\bn_batch +[=:] +(\d+)"),
    "n_ubatch": re.compile(r"\bn_ubatch +[=:] +(\d+)"),
    "n_parallel": re.compile(r"\bn_seq_max +[=:] +(\d+)"),
}
_LAYERS = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
_FLASH = re.compile(r"\bflash_attn +[=:] +(\w+)")
_UNIFIED = re.compile(r"\bkv_unified +[=:] +(true|false)")
_TYPES = re.compile(r"K \((\w+)\): +[\d.]+ MiB, V \((\w+)\): +[\d.]+ MiB")
_BUILD = re.compile(r"\bbuild(?::| =|_info:)? +b?(\d{3,6})\b|version: (\d{3,6}) \(|\bb(\d{4,6})-[0-9a-f]{7,9}\b")
_FORK = re.compile(r"\b(?:mla_attn|fused_moe|attn_max_b) +=")
_CARD = re.compile(r"(?:Device 0: |CUDA0 \(|GPU\d* name=\")((?:NVIDIA|AMD) [\w ()./-]{3,60}?)(?:,|\)| - |\")")
_MODEL = re.compile(r"general\.name +str += +([^\n]{1,120})")
_FILE_TYPE = re.compile(r"general\.file_type +u32 += +(\d{1,3})")
_FILE_TYPE_NAME = re.compile(r"\b(?:file type|model ftype) +[=:] +(?:all )?(\w+)(?: - (Small|Medium|Large)\b)?")
_ALLOCATING = re.compile(r"allocating ([\d.]+) MiB on device (\d+): (?:cuda|hip)Malloc failed: out of memory")
_RESERVING = re.compile(r"failed to allocate \w+ buffer of size (\d+)")
_CANNOT = re.compile(r"unable to allocate (\w+) buffer")
_OLLAMA = re.compile(
    r'msg="?(model weights|kv cache|compute graph)"? (?:buffer|device|backend)=(\w+)'
    r'[^\n]{0,60}? size="([\d.]+) ([KMG]?i?B)"'
)
_OLLAMA_NAMES = {"model weights": "model", "kv cache": "KV", "compute graph": "compute"}
_KINDS = {None: "model", "model": "model", "KV": "kv_cache", "RS": "recurrent_state", "compute": "compute"}
_KV = {"f16": KvFormat.FP16, "f32": KvFormat.FP32, "bf16": KvFormat.BF16} | {
    name.value: name for name in KvFormat if name.value.startswith(("q", "iq"))
}


def read(text: str) -> Logged:
    """The figures, settings and error of a log of llama.cpp or one of its kin."""
    figures = _buffers(text)
    options: dict[str, Any] = {
        name: int(found) for name, pattern in _SETTINGS.items() if (found := first(text, pattern))
    }
    layers = _LAYERS.search(text)
    if layers:
        figures |= {"gpu_layers": int(layers[1]), "total_layers": int(layers[2])}
        options["n_gpu_layers"] = int(layers[1])
    flash = first(text, _FLASH)
    if flash and flash != "auto":
        options["flash_attention"] = "on" if flash in {"1", "enabled", "true"} else "off"
    unified = first(text, _UNIFIED)
    if unified:
        options["kv_unified"] = unified == "true"
    build = _BUILD.search(text)
    fork = bool(_FORK.search(text))
    if fork:
        options["variant"] = "ik_llama_cpp"
    number_of = next((group for group in build.groups() if group), None) if build else None
    card = first(text, _CARD)
    model = first(text, _MODEL)
    return Logged(
        engine="ollama" if "source=" in text and "ollama" in text.lower() else "llama_cpp",
        version=f"b{number_of}" if number_of and not fork else None,
        figures=figures,
        options=options,
        kv_cache=_cache_types(text),
        weights=_weights(text),
        model=model.strip() if model else None,
        card=card,
        error=error(text),
    )


def _weights(text: str) -> str | None:
    """The mix by its number among the file's keys, else by its name: `Q4_K - Medium` is Q4_K_M."""
    kind = FILE_TYPES.get(int(first(text, _FILE_TYPE) or -1))
    if kind is None and (match := _FILE_TYPE_NAME.search(text)):
        kind = match[1] + (f"_{match[2][0]}" if match[2] else "")
    return f"gguf:{kind}" if kind and mix_name(kind) else None


def _buffers(text: str) -> dict[str, float]:
    """Bytes by path in the reserves: GPUs in the order in which they are named, RAM in one sum."""
    sums: dict[tuple[str, str], float] = {}
    windows = False
    for line in _of_the_model(lines_with(text, ("MiB", "creating", "loaded meta data", "clip_", "msg="))):
        if mark := _SPLIT_WINDOWS.search(line):
            windows = bool(mark[1]) and "non" not in mark[1]
        if match := _BUFFER.search(line):
            kind = "output" if match[2] == "output" else _KINDS[match[2]]
            kind = "kv_cache_sliding" if windows and kind == "kv_cache" else kind
            key = match[1], kind
            sums[key] = sums.get(key, 0.0) + number(match[3]) * MIB
        elif match := _OLLAMA.search(line):
            unit = GIB if match[4] == "GiB" else MIB if match[4] == "MiB" else 1
            key = match[2], _KINDS[_OLLAMA_NAMES[match[1]]]
            sums[key] = max(sums.get(key, 0.0), number(match[3]) * unit)
    return _by_path(sums)


def _of_the_model(lines: Iterable[str]) -> Iterable[str]:
    """The lines up to where a further model (drafter, projector) is loaded after the first has its buffers."""
    loaded = False
    for line in lines:
        if _LOADS.search(line) and loaded:
            return
        loaded = loaded or "compute buffer size" in line
        yield line


def _by_path(sums: dict[tuple[str, str], float]) -> dict[str, float]:
    devices: list[str] = []
    figures: dict[str, float] = {}
    for (place, kind), size in sums.items():
        if kind == "output":
            figures["output_bytes"] = figures.get("output_bytes", 0.0) + size
        elif _HOST.match(place):
            name = f"host_{kind if kind != 'recurrent_state' else 'kv_cache'}_bytes".replace("_sliding", "")
            figures[name] = figures.get(name, 0.0) + size
        else:
            if place not in devices:
                devices.append(place)
            figures[f"devices/{devices.index(place)}/{kind}_bytes"] = size
    return figures


def _cache_types(text: str) -> KvFormat | KvFormats | None:
    found = _TYPES.search(text)
    if found is None or found[1] not in _KV or found[2] not in _KV:
        return None
    keys, values = _KV[found[1]], _KV[found[2]]
    return keys if keys is values else KvFormats(k=keys, v=values)


def error(text: str) -> LogError | None:
    """Why llama.cpp did not start, by what it was allocating."""
    asked = _ALLOCATING.search(text)
    needed = int(number(asked[1]) * MIB) if asked else None
    if needed is None and (reserving := first(text, _RESERVING)):
        needed = int(reserving)
    if "failed to allocate compute" in text or "failed to allocate CUDA0 buffer of size" in text:
        return LogError(trouble=Trouble.COMPUTE_NOT_ALLOCATED, needed_bytes=needed)
    if "failed to allocate buffer for kv cache" in text or "kv_cache_init() failed" in text:
        return LogError(trouble=Trouble.CACHE_NOT_ALLOCATED, needed_bytes=needed)
    if _CANNOT.search(text):
        return LogError(trouble=Trouble.WEIGHTS_NOT_ALLOCATED, needed_bytes=needed)
    if asked or "CUDA error: out of memory" in text:
        return LogError(trouble=Trouble.OUT_OF_MEMORY, needed_bytes=needed)
    return None
