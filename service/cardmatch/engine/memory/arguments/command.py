"""A command line as its words: the environment set for it, and what the engine's program is told."""

from __future__ import annotations

import re
import shlex

import msgspec

from cardmatch.engine.memory.arguments.found import wrong_value

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PROGRAM = re.compile(
    r"(?:^|[/\\])(?:vllm|llama-server|llama-cli|llama-completion|trtllm-serve|ollama|lms|sglang)(?:\.exe)?$"
    r"|^(?:sglang\.launch_server|vllm\.entrypoints\.[a-z_.]+|tensorrt_llm\.commands\.serve)$"
)
_IMAGE = re.compile(r"/(?:vllm-openai|sglang|llama\.cpp|ollama|tensorrt-llm/release)(?::[\w.-]+)?$")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_PROGRAM_WITHIN = 4  # words after an image: python3 -m sglang.launch_server
_SUBCOMMANDS = frozenset({"serve", "run", "load"})
_ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "trtllm-serve": "tensorrt_llm",
    "tensorrt_llm": "tensorrt_llm",
    "llama-": "llama_cpp",
    "ollama": "ollama",
    "lms": "lm_studio",
}
_MODEL_OPTIONS = frozenset({"--model", "--model-path", "--model-tag"})


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Environment variables that are set for the program, its words without its own name, and whose program it is."""

    environment: dict[str, str]
    words: tuple[str, ...]
    engine: str | None = None


def command(text: str) -> Command:
    """Split *text* as a shell would. Raises Invalid for a quote that is never closed."""
    try:
        words = shlex.split(re.sub(r"[\\`^]\r?\n", " ", text))
    except ValueError:
        raise wrong_value("args", text) from None
    start = _start(words)
    before, rest = words[: start + 1], words[start + 1 :]
    if start < 0:
        first = next((index for index, word in enumerate(rest) if not _ASSIGNMENT.fullmatch(word)), len(rest))
        before, rest = rest[:first], rest[first:]
    if rest and rest[0] in _SUBCOMMANDS:
        rest = rest[1:]
    found = (_ASSIGNMENT.fullmatch(word) for word in before)
    program = re.split(r"[/\\\\]", words[start])[-1].removesuffix(".exe") if start >= 0 else ""
    engine = next((engine for name, engine in _ENGINES.items() if program.startswith(name)), None)
    return Command(environment={each[1]: each[2] for each in found if each}, words=tuple(rest), engine=engine)


def named_model(text: str) -> str | None:
    """The model that a command line names, None where it names none. Raises Invalid for a quote never closed."""
    told = command(text)
    for word, value in zip(told.words, told.words[1:], strict=False):
        if word in _MODEL_OPTIONS:
            return value
    first = told.words[0] if told.words else "-"
    return first if told.engine is not None and not first.startswith("-") else None


def _start(words: list[str]) -> int:
    """Where the engine's program stands, -1 where the text is options alone. What stands before tells it nothing."""
    image = -1
    if not _CONTAINERS.isdisjoint(words[:3]):
        image = next((index for index, word in enumerate(words) if _IMAGE.search(word)), -1)
    last = len(words) if image < 0 else min(len(words), image + 1 + _PROGRAM_WITHIN)
    for index in range(image + 1, last):
        if _PROGRAM.search(words[index]):
            return index
        if image < 0 and words[index].startswith("--"):
            break
    return image
