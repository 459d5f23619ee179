"""The metadata of a GGUF file: keys under the name of its architecture, scalars or one value a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from cardmatch.engine.models.config.keys import Keys, contradiction, integer, wrong_type
from cardmatch.engine.models.config.shape import MOST_LAYERS, MOST_VOCABULARY
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

_MOST = 1 << 30


class Metadata:
    """Typed access to `general.*` and `{architecture}.*` keys. Raises Invalid with pointers to the keys."""

    __slots__ = ("architecture", "layers", "values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping):
            wrong_type(values, "", "object")
        name = values.get("general.architecture")
        if name is None:
            raise Invalid(Fault(code=FaultCode.GGUF_KEY_MISSING, pointer="", params={"field": "general.architecture"}))
        if not isinstance(name, str):
            wrong_type(name, "/general.architecture", "string")
        self.values = values
        self.architecture = name
        self.layers = self._layers()

    def key(self, name: str) -> str:
        """*name* under the architecture."""
        return f"{self.architecture}.{name}"

    def pointer(self, name: str) -> str:
        """JSON pointer of *name*."""
        return Keys({}).at(self.key(name))

    def has(self, name: str) -> bool:
        """Whether *name* is there."""
        return self.values.get(self.key(name)) is not None

    def maybe(self, name: str, *, low: int = 0, high: int = _MOST) -> int | None:
        """An integer; of an array, its value where all are the same. None where it is absent."""
        value = self.values.get(self.key(name))
        if value is None:
            return None
        if isinstance(value, list):
            items = self.array(name, low=low, high=high)
            different = next((index for index, item in enumerate(items) if item != items[0]), None)
            if different is not None:
                pointer = self.pointer(name)
                contradiction(f"{pointer}/{different}", value=items[different], expected=items[0], other=f"{pointer}/0")
            return items[0] if items else None
        return integer(value, self.pointer(name), low=low, high=high)

    def size(self, name: str, *, low: int = 1, high: int = _MOST) -> int:
        """An integer that has to be there."""
        found = self.maybe(name, low=low, high=high)
        if found is None:
            raise Invalid(Fault(code=FaultCode.GGUF_KEY_MISSING, pointer="", params={"field": self.key(name)}))
        return found

    def _layers(self) -> int:
        """The number of layers, which no array can give, since arrays have one value a layer."""
        value = self.values.get(self.key("block_count"))
        if value is None:
            raise Invalid(Fault(code=FaultCode.GGUF_KEY_MISSING, pointer="", params={"field": self.key("block_count")}))
        return integer(value, self.pointer("block_count"), low=1, high=MOST_LAYERS)

    def array(self, name: str, *, low: int = 0, high: int = _MOST) -> list[int]:
        """One integer a layer; a scalar counts for all layers, booleans as 0 and 1."""
        value = self.values.get(self.key(name))
        pointer = self.pointer(name)
        if not isinstance(value, list):
            return [integer(value, pointer, low=low, high=high)] * self.layers
        if len(value) != self.layers:
            contradiction(pointer, value=len(value), expected=self.layers, other=self.pointer("block_count"))
        return [
            int(item) if isinstance(item, bool) else integer(item, f"{pointer}/{index}", low=low, high=high)
            for index, item in enumerate(value)
        ]

    def none(self, name: str) -> NoReturn:
        """Refuse *name* for being zero everywhere."""
        raise Invalid(Fault(code=FaultCode.TOO_SMALL, pointer=self.pointer(name), params={"minimum": 1}))

    def varies(self, name: str) -> bool:
        """Whether *name* has different values in different layers."""
        value = self.values.get(self.key(name))
        return isinstance(value, list) and any(item != value[0] for item in value)

    def vocabulary(self) -> int:
        """Rows of the embedding: `vocab_size`, or the tokens, which may be given as their number."""
        stated = self.maybe("vocab_size", low=1, high=MOST_VOCABULARY)
        if stated is not None:
            return stated
        tokens = self.values.get("tokenizer.ggml.tokens")
        if isinstance(tokens, list) and tokens:
            return min(len(tokens), MOST_VOCABULARY)
        if tokens is None:
            raise Invalid(Fault(code=FaultCode.GGUF_KEY_MISSING, pointer="", params={"field": "tokenizer.ggml.tokens"}))
        return integer(tokens, "/tokenizer.ggml.tokens", low=1, high=MOST_VOCABULARY)
