"""The keys of a config.json read with bounds: whatever is wrong is named by its JSON pointer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from cardmatch.engine.models.config.pointer import escape
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_JSON_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


class Keys:
    """One object of a config.json. A key may have several names; *defaults* are those of the model's class.

    An explicit null reads as absent: transformers fills in its class default for both. *assumed* keeps the sizes that
    were filled in so, by the key that they would stand under.
    """

    __slots__ = ("assumed", "defaults", "names", "pointer", "values")

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        pointer: str = "",
        names: Mapping[str, Sequence[str]] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.values = values
        self.pointer = pointer
        self.names = names or {}
        self.defaults = defaults or {}
        self.assumed: dict[str, int] = {}

    def find(self, name: str) -> tuple[str, Any] | None:
        """The key that carries *name* here, and its value; None where it is absent or null."""
        for key in self.names.get(name, (name,)):
            value = self._get(key)
            if value is not None:
                return key, value
        return None

    def _get(self, key: str) -> Any:
        """The value of *key*; slashes in its name go into objects."""
        held: Any = self.values
        for step in key.split("/"):
            if not isinstance(held, Mapping):
                return None
            held = held.get(step)
        return held

    def null(self, name: str) -> bool:
        """Whether *name* is there and null, which is not always the same as absent."""
        return any(key in self.values and self.values[key] is None for key in self.names.get(name, (name,)))

    def default(self, name: str) -> Any:
        """The class default of *name*, or None."""
        for key in (name, *self.names.get(name, ())):
            if key in self.defaults:
                return self.defaults[key]
        return None

    def at(self, key: str) -> str:
        """JSON pointer of *key*."""
        return "/".join((self.pointer, *map(escape, key.split("/"))))

    def where(self, name: str) -> str:
        """JSON pointer of the key that carries *name*, or would."""
        found = self.find(name)
        return self.at(found[0] if found else self.names.get(name, (name,))[0])

    def size(self, name: str, fallback: int | None = None, *, low: int = 1, high: int = 1 << 24) -> int:
        """An integer between *low* and *high*; absent, the class default or *fallback*."""
        found = self.maybe(name, low=low, high=high)
        if found is not None:
            return found
        if fallback is None:
            self.missing(name)
        return fallback

    def maybe(self, name: str, *, low: int = 1, high: int = 1 << 24) -> int | None:
        """An integer between *low* and *high*, the class default, or None."""
        found = self.find(name)
        if found is None:
            value = self.default(name)
            if not isinstance(value, int) or isinstance(value, bool):
                return None
            self.assumed[name] = value
            return value
        return integer(found[1], self.at(found[0]), low=low, high=high)

    def flag(self, name: str, fallback: bool = False) -> bool:  # noqa: FBT001, FBT002 - a default is what it is
        """A boolean; absent, the class default or *fallback*."""
        found = self.find(name)
        if found is None:
            value = self.default(name)
            return value if isinstance(value, bool) else fallback
        if not isinstance(found[1], bool):
            wrong_type(found[1], self.at(found[0]), "boolean")
        return found[1]

    def number(self, name: str, fallback: float, *, low: float = 0, high: float = 1e6) -> float:
        """A number between *low* and *high*; absent, the class default or *fallback*."""
        found = self.find(name)
        if found is None:
            value = self.default(name)
            return value if isinstance(value, int | float) else fallback
        key, value = found
        if isinstance(value, bool) or not isinstance(value, int | float):
            wrong_type(value, self.at(key), "number")
        _bounded(value, self.at(key), low, high)
        return value

    def text(self, name: str, fallback: str = "") -> str:
        """A short string; absent, the class default or *fallback*."""
        found = self.find(name)
        if found is None:
            value = self.default(name)
            return value if isinstance(value, str) else fallback
        key, value = found
        if not isinstance(value, str):
            wrong_type(value, self.at(key), "string")
        if len(value) > 4096:
            raise Invalid(Fault(code=FaultCode.TEXT_TOO_LONG, pointer=self.at(key), params={"maximum": 4096}))
        return value

    def within(self, name: str) -> Keys | None:
        """The object under *name*, without defaults of its own, or None."""
        found = self.find(name)
        if found is None:
            return None
        key, value = found
        if not isinstance(value, dict):
            wrong_type(value, self.at(key), "object")
        return Keys(value, pointer=self.at(key), names=self.names)

    def array(self, name: str, *, length: int | None = None, most: int = 4096) -> tuple[str, list[Any]] | None:
        """Pointer and items of an array of *length* (or at most *most*) items, or None."""
        found = self.find(name)
        if found is None:
            return None
        key, value = found
        pointer = self.at(key)
        if not isinstance(value, list):
            wrong_type(value, pointer, "array")
        if length is not None and len(value) != length:
            contradiction(pointer, value=len(value), expected=length, other=self.where("num_hidden_layers"))
        if len(value) > most:
            raise Invalid(Fault(code=FaultCode.TOO_MANY_ITEMS, pointer=pointer, params={"maximum": most}))
        return pointer, value

    def integers(self, name: str, *, low: int, high: int, length: int | None = None) -> list[int] | None:
        """An array of integers between *low* and *high*, or None."""
        found = self.array(name, length=length)
        if found is None:
            return None
        pointer, items = found
        return [integer(item, f"{pointer}/{index}", low=low, high=high) for index, item in enumerate(items)]

    def missing(self, name: str) -> NoReturn:
        """Refuse the config for lack of *name*."""
        raise Invalid(Fault(code=FaultCode.MISSING_FIELD, pointer=self.pointer, params={"field": name}))


def integer(value: Any, pointer: str, *, low: int, high: int) -> int:
    """*value* if it is an integer between *low* and *high*; refused otherwise."""
    if isinstance(value, bool) or not isinstance(value, int):
        wrong_type(value, pointer, "integer")
    _bounded(value, pointer, low, high)
    return value


def wrong_type(value: Any, pointer: str, expected: str) -> NoReturn:
    """Refuse *value*, which should have been of JSON type *expected*."""
    got = _JSON_TYPES.get(type(value), "object")
    raise Invalid(
        Fault(code=FaultCode.WRONG_TYPE, pointer=pointer, params={"expected": [expected], "got": got}),
    )


def wrong_value(value: str, pointer: str, known: Sequence[str]) -> NoReturn:
    """Refuse *value*, which is none of *known*."""
    params: dict[str, Any] = {"value": value[:64], "known": list(known)}
    raise Invalid(Fault(code=FaultCode.WRONG_VALUE, pointer=pointer, params=params))


def contradiction(pointer: str, *, value: int, expected: int, other: str) -> NoReturn:
    """Refuse *value*, which the key at *other* requires to be *expected*."""
    params: dict[str, Any] = {"value": value, "expected": expected, "other": other}
    raise Invalid(Fault(code=FaultCode.CONTRADICTION, pointer=pointer, params=params))


def divisible(value: int, pointer: str, *, divisor: int, other: str) -> int:
    """*value* / *divisor*, refused when it does not come out even."""
    if value % divisor:
        params: dict[str, Any] = {"value": value, "divisor": divisor, "other": other}
        raise Invalid(Fault(code=FaultCode.NOT_DIVISIBLE, pointer=pointer, params=params))
    return value // divisor


def _bounded(value: float, pointer: str, low: float, high: float) -> None:
    if not low <= value:
        raise Invalid(Fault(code=FaultCode.TOO_SMALL, pointer=pointer, params={"minimum": low}))
    if not value <= high:
        raise Invalid(Fault(code=FaultCode.TOO_LARGE, pointer=pointer, params={"maximum": high}))
