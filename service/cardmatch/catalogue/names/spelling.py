"""One key for all spellings of a card's name: case, accents, spaces, vendors and words around it do not matter."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

# Words around a card's name that tell cards apart for nobody: vendor, brand, and "graphics card" in the languages that
# the service speaks. Chinese ones vanish with every other character that is not a Latin letter or a digit.
_AROUND = frozenset(
    (
        *("nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "intel", "habana", "google", "edition"),
        *("gpu", "gpus", "card", "cards", "graphics", "video", "vga", "vram", "memory", "the", "a", "with"),
        *("tarjeta", "tarjetas", "grafica", "graficas", "placa", "placas", "de", "con", "una", "un", "la", "el"),
    )
)
_MEMORY = re.compile(r"(?<![0-9a-z.])(\d{1,4}(?:\.\d+)?) ?(?:gib|gigas|gigabytes|gb|g)(?![0-9a-z])")
_PARTITION = re.compile(r"[-_ ]mig[-_ ]?(\d+g\.\d+gb)((?:[.+]me)?(?:[.+](?:gfx|all))?)(?=$|[-_ ])", re.IGNORECASE)
_SHARED = re.compile(r"[-_ ]shared$", re.IGNORECASE)


class Label(NamedTuple):
    """A name taken apart: the card's own name, the MIG profile in it, and whether it is time-shared."""

    name: str
    mig: str | None
    shared: bool


def label(text: str) -> Label:
    """Take off the suffixes that GPU feature discovery puts behind a product name: `-MIG-3g.40gb` and `-SHARED`."""
    bare, shared = _SHARED.subn("", text.strip())
    found = _PARTITION.search(bare)
    if found is None:
        return Label(bare, None, bool(shared))
    return Label(bare[: found.start()] + bare[found.end() :], found[1].lower(), bool(shared))


def key(text: str) -> str:
    """Letters and digits alone, in lower case, as the name index spells them."""
    return "".join(character for character in _fold(text) if character.isascii() and character.isalnum())


def without_words(text: str) -> str:
    """*text* without the words that stand around a card's name."""
    words = re.sub(r"[^0-9a-z.]+", " ", _fold(text)).split()
    return " ".join(word for word in words if word not in _AROUND)


def split_memory(text: str) -> tuple[str, float | None]:
    """*text* without its memory size, and that size in gigabytes; None where it names no size or several."""
    folded = re.sub(r"[^0-9a-z.]+", " ", _fold(text)).strip()
    sizes = _MEMORY.findall(folded)
    if len(sizes) != 1:
        return folded, None
    return _MEMORY.sub(" ", folded).strip(), float(sizes[0])


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(character for character in decomposed if not unicodedata.combining(character))
