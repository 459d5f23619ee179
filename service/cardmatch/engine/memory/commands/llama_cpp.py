"""`llama-server …`, and what starts Ollama and LM Studio likewise: llama.cpp b11501 common/arg.cpp."""

from __future__ import annotations

from cardmatch.engine.memory.commands.subject import Subject
from cardmatch.engine.memory.commands.words import Written, option_words
from cardmatch.engine.memory.engines.llama_cpp.options import FlashAttention, LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.settled import settle
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.lm_studio.options import as_llama_cpp as lm_studio_server
from cardmatch.engine.memory.engines.ollama.options import Ollama
from cardmatch.engine.memory.engines.ollama.reserve import as_llama_cpp as ollama_server
from cardmatch.engine.models.kv_formats import KvCache, KvFormat, KvFormats
from cardmatch.engine.terms.units import MIB

_OPTIONS = {
    "n_batch": Written("-b"),
    "n_ubatch": Written("-ub"),
    "swa_full": Written("--swa-full"),
    "flash_attention": Written("-fa"),
    "kv_offload": Written("-kvo", "-nkvo"),
    "op_offload": Written("--op-offload", "--no-op-offload"),
    "n_gpu_layers": Written("-ngl"),
    "n_cpu_moe": Written("-ncmoe"),
    "experts_on_host": Written("-cmoe"),
    "split_mode": Written("-sm"),
    "tensor_split": Written("-ts"),
    "mmap": Written("--mmap", "--no-mmap"),
}
_KV_FORMATS = {KvFormat.FP16: "f16", KvFormat.FP32: "f32"}
_DRAFT = "draft-mtp"


def command(subject: Subject) -> list[str]:
    """The words that start llama-server with the cells and slots that were counted."""
    options: LlamaCpp = subject.engine
    settled = settle(options, subject.job)
    unified = settled.streams == 1 and settled.slots > 1
    return [
        "llama-server",
        *_file(subject),
        "-c",
        str(settled.n_ctx),
        "-np",
        str(settled.slots),
        *(["-kvu"] if unified and settled.era.separate_streams else []),
        *_cache(subject.job.kv_cache),
        *option_words(options, _OPTIONS),
        *_placed(options),
    ]


def _file(subject: Subject) -> tuple[str, str]:
    """A file of the user's own, or the one of its type in the repository that was named for holding it."""
    label = subject.gguf_label
    if subject.holds_gguf:
        return "-hf", f"{subject.name}:{label}"
    name = subject.name.rpartition("/")[2]
    return "-m", f"{name}.gguf" if label is None else f"{name}-{label}.gguf"


def _cache(kv_cache: KvCache) -> list[str]:
    both = kv_cache if isinstance(kv_cache, KvFormats) else KvFormats(k=kv_cache, v=kv_cache)
    names = [_KV_FORMATS.get(side, side.value) for side in (both.k, both.v)]
    return [] if names == ["f16", "f16"] else ["-ctk", names[0], "-ctv", names[1]]


def _placed(options: LlamaCpp) -> list[str]:
    """Tensors that are moved, the margin of --fit, the drafter and the image projector."""
    words = [
        word
        for each in options.override_tensors
        for word in ("-ot", f"{each.pattern}={'CPU' if each.to.value == 'host' else 'CUDA0'}")
    ]
    if options.fit is not None:
        words += ["--fit", "on" if options.fit else "off"]
    if options.fit_target_bytes != LlamaCpp().fit_target_bytes:
        words += ["--fit-target", str(options.fit_target_bytes // MIB)]
    if options.draft is not None:
        words += ["--spec-type", _DRAFT, "--spec-draft-n-max", str(options.draft_tokens)]
    return [*words, "--mmproj", "mmproj.gguf"] if options.mmproj else words


def ollama_command(subject: Subject) -> list[str]:
    """The environment that makes Ollama serve as was counted; its models are pulled by names of its own."""
    options: Ollama = subject.engine
    server = settle(ollama_server(options, subject.job, subject.placement), subject.job)
    flash, cache = options.flash_attention, subject.job.kv_cache
    said = {
        "OLLAMA_CONTEXT_LENGTH": str(server.n_ctx_seq),
        "OLLAMA_NUM_PARALLEL": str(server.slots),
        "OLLAMA_FLASH_ATTENTION": "" if flash is FlashAttention.AUTO else str(int(flash is FlashAttention.ON)),
        "OLLAMA_KV_CACHE_TYPE": cache.value if cache in {KvFormat.Q8_0, KvFormat.Q4_0} else "",
        "OLLAMA_GPU_OVERHEAD": str(options.gpu_overhead_bytes or ""),
    }
    return [*(f"{name}={value}" for name, value in said.items() if value), "ollama", "serve"]


def lm_studio_command(subject: Subject) -> list[str]:
    """`lms load …`; options that only the application's window has are not among its words."""
    options: LmStudio = subject.engine
    server = settle(lm_studio_server(options, subject.job), subject.job)
    layers = len(subject.job.architecture.layer_order) + 1
    share = "max" if options.gpu_layers is None else f"{min(options.gpu_layers, layers) / layers:.3g}"
    sizes = ["--context-length", str(server.n_ctx), "--parallel", str(server.slots)]
    name = subject.name if subject.gguf_label is None else f"{subject.name}@{subject.gguf_label}"
    return ["lms", "load", name, *sizes, "--gpu", share]
