"""What a process remembers of a hub: so many bytes at most, the least used leaves first, nothing stays for ever."""

from __future__ import annotations

from collections import OrderedDict

MOST_BYTES = 16 << 20
MOST_ENTRIES = 4096


class Memory:
    """Bytes by key. *now* is any clock that does not go back, the same in every call."""

    def __init__(self, most_bytes: int = MOST_BYTES, most_entries: int = MOST_ENTRIES) -> None:
        """Empty."""
        self._entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._most_bytes, self._most_entries = most_bytes, most_entries
        self.bytes = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def recall(self, key: str, now: float) -> bytes | None:
        """What was kept under *key*, unless its time is over."""
        found = self._entries.get(key)
        if found is None:
            return None
        if found[0] <= now:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return found[1]

    def keep(self, key: str, value: bytes, until: float) -> None:
        """Keep *value* under *key* until then, or until others need its place."""
        if key in self._entries:
            self._drop(key)
        self._entries[key] = (until, value)
        self.bytes += len(value)
        while self.bytes > self._most_bytes or len(self._entries) > self._most_entries:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: str) -> None:
        self.bytes -= len(self._entries.pop(key)[1])
