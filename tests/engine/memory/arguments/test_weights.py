"""The quantisation that a command line's model names."""

from __future__ import annotations

from typing import Any

import pytest

from cardmatch.engine.memory.arguments.weights import named_weights
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.lm_studio.options import LmStudio
from cardmatch.engine.memory.engines.ollama.options import Ollama
from tests.engine.memory.arguments.test_read import told


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("Qwen3-30B-A3B-Q6_K.gguf", "gguf:Q6_K"),
        ("/models/unsloth/Q8-tests/gemma-3-27b-it-UD-Q4_K_XL-00001-of-00002.gguf", "gguf:UD-Q4_K_XL"),
        ("gpt-oss-20b-mxfp4.gguf", "gguf:MXFP4"),
        ("Llama-3.1-8B-Instruct.IQ4_XS.gguf", "gguf:IQ4_XS"),
        ("Meta-Llama_F16.gguf", "gguf:F16"),
        ("DeepSeek-R1-Q4_K_R4.gguf", None),
        ("model.gguf", None),
    ],
)
def test_a_file_name_ends_on_its_quantisation(name: str, weights: str | None) -> None:
    """The last label that llama.cpp or its fork knows."""
    assert named_weights(name) == weights


@pytest.mark.parametrize(
    ("engine", "weights", "assumed"),
    [
        (LlamaCpp(args="llama-server -m /m/Llama-3.1-8B-Q5_K_M.gguf -c 8192"), "gguf:Q5_K_M", False),
        (LlamaCpp(args="llama-server -m model.gguf"), "as_published", False),
        (LlamaCpp(args="llama-server -hf bartowski/Llama-3.1-8B-GGUF:Q8_0"), "gguf:Q8_0", False),
        (LlamaCpp(args="llama-server -hf bartowski/Llama-3.1-8B-GGUF"), "gguf:Q4_K_M", True),
        (LlamaCpp(args="llama-server -hf u/r -hff Llama-3.1-8B-Q3_K_L.gguf"), "gguf:Q3_K_L", False),
        (Ollama(args="ollama run llama3.1:8b 'is Q8_0 better?'"), "gguf:Q4_K_M", True),
        (Ollama(args="ollama run llama3.1:8b-instruct-q8_0"), "gguf:Q8_0", False),
        (Ollama(args="FROM ./Llama-3.1-8B-Q6_K.gguf\nPARAMETER num_ctx 16384"), "gguf:Q6_K", False),
        (Ollama(args="OLLAMA_NUM_PARALLEL=2 ollama serve"), "as_published", False),
        (LmStudio(args="lms load meta/llama-3.1-8b@q4_k_s --gpu max"), "gguf:Q4_K_S", False),
    ],
)
def test_weights_are_those_that_the_model_names_or_the_program_takes(engine: Any, weights: str, assumed: bool) -> None:  # noqa: FBT001
    """A library's usual quantisation is listed as assumed."""
    read = told(engine)
    assert read.workload.weights == weights
    assert [each.pointer for each in read.assumptions] == ["/workload/weights"] * assumed
