"""A model's name taken apart into words, so that spelling, order and separators do not matter."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\d+(?:\.\d+)?[a-z]*|[a-z]+")
_SIZE = re.compile(
    r"(\d{1,4}(?:[.,]\d{1,3})?)\s*(b|bn|billion|billones|t)?(?:\s*(?:params?|parameters|model|llm))?", re.ASCII
)
_SIZE_ZH = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*(亿|万亿)(?:参数)?(?:模型)?")

# What stands behind a family's name as the number of a generation; longer numbers are dates of release.
_GENERATION = re.compile(r"\d{1,2}(?:\.\d{1,2})?")
IDENTITY = frozenset(
    (
        *("mamba", "vl", "coder", "code", "math", "embedding", "embed", "embeddings", "reranker", "rerank"),
        *("omni", "audio", "guard", "thinking", "think", "reasoning", "distill", "moe", "next", "guardian", "ocr"),
        *("asr", "speech", "captioner", "1m", "nas", "prover", "reward", "classifier", "qwq", "qvq", "h"),
    )
)
"""Words that make a model another one: a name that lacks them does not mean a model that has them."""


def fold(text: str) -> str:
    """*text* in lower case, without accents and width variants."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def words(text: str) -> tuple[str, ...]:
    """The words of a name: runs of letters, and numbers with the letters behind them (`8b`, `3.1`)."""
    return tuple(_WORD.findall(fold(text)))


def bare_size(text: str) -> float | None:
    """Parameters in billions where *text* is nothing but a size: `7B`, `0,5 b`, `70亿`; None where it is not."""
    folded = fold(text)
    if chinese := _SIZE_ZH.fullmatch(folded):
        return float(chinese[1]) * (1000 if chinese[2] == "万亿" else 0.1)
    match = _SIZE.fullmatch(folded)
    if match is None or match[2] is None:
        return None
    return float(match[1].replace(",", ".")) * (1000 if match[2] == "t" else 1)


def changes_identity(id_: str, name: str) -> bool:
    """Whether the model *id_* says of itself what *name* does not: another kind or another generation of its family.

    A generation counts where it stands right behind the family's name, its first word (`internlm2_5`, `Qwen1.5`).
    """
    asked = frozenset(words(name))
    held = words(id_.rpartition("/")[2])
    if frozenset(held) & IDENTITY - asked:
        return True
    first = next((index for index, word in enumerate(held) if word in asked and word.isalpha()), None)
    if first is None or first + 1 >= len(held):
        return False
    after = held[first + 1]
    return _GENERATION.fullmatch(after) is not None and after not in asked
