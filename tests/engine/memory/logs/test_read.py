"""Logs of engines as public reports quote them, read into figures."""

from __future__ import annotations

import time

import pytest

from cardmatch.engine.memory.logs.logged import LogError, Trouble
from cardmatch.engine.memory.logs.read import read_log
from cardmatch.engine.models.kv_formats import KvFormat
from cardmatch.engine.terms.fault import FaultCode, Invalid
from cardmatch.engine.terms.units import GIB, MIB

VLLM = """
INFO 08-21 [core.py:97] Initializing a V1 LLM engine (v0.14.1) with config: model='meta-llama/Llama-3.1-8B-Instruct', \
dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, \
quantization=None, enforce_eager=False, kv_cache_dtype=fp8, device_config=cuda
INFO [scheduler.py:205] Chunked prefill is enabled with max_num_batched_tokens=8192.
INFO [gpu_model_runner.py:2653] Model loading took 7.5122 GiB and 3.2 seconds
INFO [gpu_worker.py:298] Available KV cache memory: 8.11 GiB
INFO [kv_cache_utils.py:1087] GPU KV cache size: 178,880 tokens
INFO [kv_cache_utils.py:1091] Maximum concurrency for 131,072 tokens per request: 1.36x
INFO [gpu_model_runner.py:3480] Graph capturing finished in 22 secs, took 0.53 GiB
"""
SGLANG = """
[2026-02-27 17:10:00] server_args=ServerArgs(model_path='Qwen/Qwen3.5-35B-A3B', context_length=8192, tp_size=2, \
mem_fraction_static=0.85, max_running_requests=1, kv_cache_dtype='auto', page_size=1, dp_size=1)
[2026-02-27 17:10:27 TP0] Load weight end. elapsed=653.47 s, type=Qwen3_5MoeForConditionalGeneration, \
dtype=torch.bfloat16, avail mem=19.08 GB, mem usage=3.76 GB.
[2026-02-27 17:10:28 TP0] Mamba Cache is allocated. max_mamba_cache_size: 82, conv_state size: 0.13GB, \
ssm_state size: 7.29GB
[2026-02-27 17:10:28 TP0] KV Cache is allocated. #tokens: 580364, K size: 4.15 GB, V size: 4.15 GB
[2026-02-27 17:10:29 TP0] max_total_num_tokens=580364, chunked_prefill_size=2048, max_prefill_tokens=16384, \
max_running_requests=1, context_len=8192, available_gpu_mem=3.63 GB
"""
TENSORRT_LLM = """
[TensorRT-LLM][INFO] Number of tokens per block: 64.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache (220480).
[02/14/2025-09:38:53] [TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192
"""
OLLAMA = """
time=2025-04-04T10:00:00.000Z level=INFO source=server.go:405 msg="starting llama server" cmd="/usr/bin/ollama runner"
load_tensors: offloading output layer to GPU
load_tensors: offloaded 25/25 layers to GPU
load_tensors:        CUDA0 model buffer size =   577.22 MiB
load_tensors:   CPU_Mapped model buffer size =   520.30 MiB
llama_init_from_model: n_seq_max     = 1
llama_init_from_model: n_ctx         = 32768
llama_init_from_model: n_ctx_per_seq = 32768
llama_init_from_model: n_batch       = 512
llama_init_from_model: n_ubatch      = 512
llama_init_from_model: flash_attn    = 0
"""
LLAMA_CPP = """
build: 9124 (1d7ab2b94) with GNU 13.3.0 for Linux x86_64
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
load_tensors: offloaded 49/49 layers to GPU
load_tensors:        CUDA0 model buffer size =  6637.63 MiB
load_tensors:   CPU_Mapped model buffer size =   787.50 MiB
llama_context: n_seq_max     = 4
llama_context: n_ctx         = 8192
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 2048
llama_context: flash_attn    = enabled
llama_context: kv_unified    = true
llama_context:  CUDA_Host  output buffer size =     4.00 MiB
llama_kv_cache_iswa: creating non-SWA KV cache, size = 8192 cells
llama_kv_cache:      CUDA0 KV buffer size =   128.00 MiB
llama_kv_cache: size =  128.00 MiB (  8192 cells,   8 layers,  4/1 seqs), K (f16):   64.00 MiB, V (f16):   64.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 6144 cells
llama_kv_cache:      CUDA0 KV buffer size =  1920.00 MiB
llama_context:      CUDA0 compute buffer size =   541.07 MiB
llama_context:  CUDA_Host compute buffer size =   116.08 MiB
clip_model_loader: model name: mmproj
load_tensors:        CUDA0 model buffer size =   900.00 MiB
"""


def test_vllm_prints_weights_pool_tokens_and_graphs() -> None:
    """Figures lie under the names of vLLM's reserves, settings under those of its options."""
    log = read_log(VLLM)
    assert (log.engine, log.version, log.model) == ("vllm", "0.14.1", "meta-llama/Llama-3.1-8B-Instruct")
    assert log.figures["model_bytes"] == pytest.approx(7.5122 * GIB)
    assert log.figures["kv_cache_bytes"] == pytest.approx(8.11 * GIB)
    assert (log.figures["kv_cache_tokens"], log.figures["max_concurrency_at_max_length"]) == (178_880, 1.36)
    assert log.figures["graphs_bytes"] == pytest.approx(0.53 * GIB)
    assert log.options == {"max_model_len": 131_072, "max_num_batched_tokens": 8192}
    assert (log.layout, log.kv_cache, log.error) == ({"tensor": 2}, "fp8", None)


def test_vllm_before_v1_prints_one_sentence() -> None:
    """V0 put weights, peak and cache in one line (its worker.py)."""
    log = read_log(
        "INFO worker.py:267] the current vLLM instance can use total_gpu_memory (23.69GiB) x gpu_memory_utilization "
        "(0.90) = 21.32GiB\nINFO worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch "
        "activation peak memory takes 1.19GiB; the rest of the memory reserved for KV Cache is 5.05GiB.\n"
        "INFO executor_base.py:111] # cuda blocks: 2587, # CPU blocks: 2048"
    )
    assert log.figures["model_bytes"] == pytest.approx(14.99 * GIB)
    assert log.figures["kv_cache_bytes"] == pytest.approx(5.05 * GIB)
    assert (log.figures["blocks"], log.options["gpu_memory_utilization"]) == (2587, 0.9)


def test_sglang_prints_pools_of_cache_and_state() -> None:
    """A hybrid has a pool for states beside the tokens (a public report on two 4090s)."""
    log = read_log(SGLANG)
    assert (log.engine, log.model) == ("sglang", "Qwen/Qwen3.5-35B-A3B")
    assert log.figures["model_bytes"] == pytest.approx(3.76 * GIB)
    assert log.figures["kv_cache_bytes"] == pytest.approx(8.30 * GIB)
    assert log.figures["state_bytes"] == pytest.approx(7.42 * GIB)
    assert (log.figures["kv_cache_tokens"], log.figures["state_slots"]) == (580_364, 82)
    assert (log.options["mem_fraction_static"], log.options["context_length"]) == (0.85, 8192)
    assert log.layout == {"tensor": 2}


def test_tensorrt_llm_prints_its_paged_cache() -> None:
    """Size, tokens and block of the cache, and the three limits."""
    log = read_log(TENSORRT_LLM)
    assert log.engine == "tensorrt_llm"
    assert log.figures["kv_cache_bytes"] == pytest.approx(26.91 * GIB)
    assert (log.figures["kv_cache_tokens"], log.figures["tokens_per_block"]) == (220_480, 64)
    assert log.options == {"max_seq_len": 131_072, "max_batch_size": 2048, "max_num_tokens": 8192}


def test_llama_cpp_prints_a_line_for_each_buffer() -> None:
    """Windows apart from the whole context, RAM apart from the GPU; what the projector loads later is left out."""
    log = read_log(LLAMA_CPP)
    assert (log.engine, log.version, log.card) == ("llama_cpp", "b9124", "NVIDIA GeForce RTX 3090")
    assert log.figures["devices/0/model_bytes"] == pytest.approx(6637.63 * MIB)
    assert log.figures["host_model_bytes"] == pytest.approx(787.50 * MIB)
    assert log.figures["devices/0/kv_cache_bytes"] == pytest.approx(128 * MIB)
    assert log.figures["devices/0/kv_cache_sliding_bytes"] == pytest.approx(1920 * MIB)
    assert log.figures["devices/0/compute_bytes"] == pytest.approx(541.07 * MIB)
    assert log.figures["host_compute_bytes"] == pytest.approx(116.08 * MIB)
    assert log.options["n_ubatch"] == 2048
    assert (log.options["kv_unified"], log.options["flash_attention"], log.kv_cache) == (True, "on", KvFormat.FP16)


@pytest.mark.parametrize(
    ("line", "weights"),
    [
        ("llama_model_loader: - kv  22:                          general.file_type u32              = 18", "gguf:Q6_K"),
        ("print_info: file type   = Q4_K - Medium", "gguf:Q4_K_M"),
        ("llm_load_print_meta: model ftype      = IQ4_XS - 4.25 bpw", "gguf:IQ4_XS"),
        ("llm_load_print_meta: model ftype      = all F32", "gguf:F32"),
        ("print_info: file size   = 4.58 GiB (4.89 BPW)", None),
    ],
)
def test_llama_cpp_prints_the_mix_of_the_file(line: str, weights: str | None) -> None:
    """By its number among the file's keys, or by its name."""
    assert read_log(f"{line}\n{LLAMA_CPP}").weights == weights


def test_ollama_passes_its_runners_lines_on() -> None:
    """Ollama's log has llama.cpp's lines between its own (ollama#10114)."""
    log = read_log(OLLAMA)
    assert (log.engine, log.options["n_ctx"], log.options["n_gpu_layers"]) == ("ollama", 32768, 25)
    assert log.figures["devices/0/model_bytes"] == pytest.approx(577.22 * MIB)


def test_ollamas_own_engine_names_buffers_in_words() -> None:
    """The engine that Ollama wrote itself printed sizes in GiB, one line a device (ollama#11090)."""
    log = read_log(
        'time=2025-07-18 level=INFO source=ggml.go:365 msg="model weights" buffer=CUDA0 size="11.5 GiB"\n'
        'time=2025-07-18 level=INFO source=ggml.go:365 msg="model weights" buffer=CUDA1 size="11.9 GiB"\n'
        'time=2025-07-18 level=INFO source=ggml.go:365 msg="model weights" buffer=CPU size="680.0 MiB"\n'
        'time=2025-07-18 level=INFO source=server.go msg="ollama_llama_server" llama_model_loader ggml_cuda'
    )
    assert log.figures["devices/1/model_bytes"] == pytest.approx(11.9 * GIB)
    assert log.figures["host_model_bytes"] == pytest.approx(680 * MIB)


# vllm#34076
BELOW_LENGTH = (
    "(EngineCore_DP0 pid=1094) ValueError: To serve at least one request with the models's max seq len "
    "(262144), (24.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.18 "
    "GiB). Based on the available memory, the estimated maximum model length is 34736. Try increasing "
    "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
)
# vllm#2418
BELOW_LENGTH_V0 = (
    "vllm ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can"
    " be stored in KV cache (3664). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`"
)
# vllm v0.33.0 v1/worker/utils.py
HELD_BY_OTHERS = (
    "vllm ValueError: Free memory on device cuda:0 (14.5/23.69 GiB) on startup is less than desired GPU "
    "memory utilization (0.92, 21.8 GiB). Decrease GPU memory utilization or reduce GPU memory used by "
    "other processes"
)
# torch's own words
TORCH = (
    "vllm/v1/worker: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has "
    "a total capacity of 23.64 GiB of which 512.00 MiB is free."
)
# sglang 0.5.23 pool_configurator.py
NO_ROOM = "sglang.srt RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
# llama.cpp#10052
COMPUTE = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8849.72 MiB on device 0: cudaMalloc failed: "
    "out of memory\nggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size "
    "9279609856\nllama_init_from_model: failed to allocate compute buffers"
)
# llama.cpp
CACHE = (
    "llama_kv_cache: allocating 16640.00 MiB on device 0: cudaMalloc failed: out of "
    "memory\nllama_init_from_model: failed to initialize the context: failed to allocate buffer for kv "
    "cache"
)
# llama.cpp
WEIGHTS = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 15339.44 MiB on device 0: cudaMalloc failed: "
    "out of memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer"
)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            BELOW_LENGTH,
            LogError(
                trouble=Trouble.CACHE_BELOW_LENGTH,
                needed_bytes=24 * GIB,
                available_bytes=int(3.18 * GIB),
                fitting_tokens=34736,
            ),
        ),
        (BELOW_LENGTH_V0, LogError(trouble=Trouble.CACHE_BELOW_LENGTH, fitting_tokens=3664)),
        (
            HELD_BY_OTHERS,
            LogError(
                trouble=Trouble.MEMORY_HELD_BY_OTHERS,
                needed_bytes=int(21.8 * GIB),
                available_bytes=int(14.5 * GIB),
                total_bytes=int(23.69 * GIB),
            ),
        ),
        (
            TORCH,
            LogError(
                trouble=Trouble.OUT_OF_MEMORY,
                needed_bytes=896 * MIB,
                available_bytes=512 * MIB,
                total_bytes=int(23.64 * GIB),
            ),
        ),
        (NO_ROOM, LogError(trouble=Trouble.NO_ROOM_FOR_CACHE)),
        (COMPUTE, LogError(trouble=Trouble.COMPUTE_NOT_ALLOCATED, needed_bytes=int(8849.72 * MIB))),
        (CACHE, LogError(trouble=Trouble.CACHE_NOT_ALLOCATED, needed_bytes=16640 * MIB)),
        (WEIGHTS, LogError(trouble=Trouble.WEIGHTS_NOT_ALLOCATED, needed_bytes=int(15339.44 * MIB))),
    ],
)
def test_errors_are_read_with_the_bytes_that_they_name(line: str, error: LogError) -> None:
    """Each engine says in its own words what it lacked."""
    assert read_log(line).error == error


@pytest.mark.parametrize("text", ["hello", "vllm vllm vllm", "x" * 100_000, "llama_\n" * 1000])
def test_what_is_no_log_is_refused(text: str) -> None:
    """Nothing is made up from a text without figures."""
    with pytest.raises(Invalid) as caught:
        read_log(text)
    assert caught.value.faults[0].code is FaultCode.LOG_NOT_READ


@pytest.mark.parametrize("piece", ["\n", " ", "\r\n", "ServerArgs(", "(1,", "load_tensors: CUDA0 model buffer size\n"])
def test_a_megabyte_of_anything_is_read_at_once(piece: str) -> None:
    """A log as long as may be sent takes no longer to read than its start and its end do."""
    text = piece * (999_000 // len(piece))
    started = time.process_time()
    with pytest.raises(Invalid):
        read_log(text)
    assert time.process_time() - started < 0.25


def test_the_start_and_the_end_of_a_long_log_are_read() -> None:
    """Weeks of requests between what an engine reserved and its error hide neither."""
    served = "INFO 10-11 12:00:00 loggers.py:127] Avg generation throughput: 12.3 tokens/s\n" * 10_000
    log = read_log(f"{VLLM}\n{served}vllm: torch.OutOfMemoryError: CUDA out of memory.")
    assert log.figures == read_log(VLLM).figures
    assert log.error == LogError(trouble=Trouble.OUT_OF_MEMORY)


def test_an_error_that_any_engine_prints_is_of_the_engine_that_is_stated() -> None:
    """PyTorch's own error does not say whose it is; whoever asks does."""
    line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert [read_log(line, engine).engine for engine in ("vllm", "sglang", "tensorrt_llm")] == [
        "vllm",
        "sglang",
        "tensorrt_llm",
    ]
