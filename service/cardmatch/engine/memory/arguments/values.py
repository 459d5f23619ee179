"""How the values of options are written: sizes with suffixes, switches in words, JSON."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_HUMAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtT]?)(?:i?[bB])?")
_YES = frozenset({"1", "true", "on", "yes", "enabled"})
_NO = frozenset({"0", "false", "off", "no", "disabled"})


def integer(value: str) -> int:
    """A whole number. Raises ValueError for anything else."""
    return int(value)


def human(value: str) -> int:
    """A whole number that may end in k, m, g (decimal) or K, M, G (binary), as vLLM reads lengths."""
    found = _HUMAN.fullmatch(value.replace("_", ""))
    if found is None:
        raise ValueError(value)
    return int(float(found[1]) * _SUFFIXES.get(found[2], 1))


def ratio(value: str) -> float:
    """A number. Raises ValueError for NaN and infinity, which no option takes."""
    number = float(value)
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124 - only NaN differs from itself
        raise ValueError(value)
    return number


def switch(value: str) -> bool:
    """A switch in words or figures; without a value it is on."""
    word = value.lower()
    if word in _YES or not word:
        return True
    if word in _NO:
        return False
    raise ValueError(value)


def text(value: str) -> str:
    """The value as it stands."""
    return value


def json(value: str) -> Any:
    """A JSON object. Raises ValueError where it is not one."""
    try:
        decoded = msgspec.json.decode(value.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(value) from error
    if not isinstance(decoded, dict):
        raise ValueError(value)  # noqa: TRY004 - to the user the value is wrong, whatever its type
    return decoded
