"""What is known of each source: its columns, its names, its mistakes. The facts lie in `data/importers.json`."""

from __future__ import annotations

import functools
import re

import msgspec

from cardmatch.catalogue.bundle import read
from cardmatch.engine.money.offer import PriceKind, Tier


class CloudRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one cloud's rows are read. Patterns take `card`, `tier` and `provider` out of the instance's name."""

    patterns: tuple[str, ...] = ()
    provider_pattern: str | None = None
    names_first: str = "instance"
    upstream: bool = False
    spot_suffix: str | None = None
    cards: dict[str, str] = {}
    price_kind: PriceKind = PriceKind.LIST
    tier: Tier = Tier.STANDARD
    broker: str | None = None
    currency_unverified: bool = False
    gpus_apart: bool = False
    placeholder_usd: tuple[float, ...] = ()
    note: str | None = None


class Knowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the importers know of their sources."""

    as_of: str
    sources: tuple[str, ...]
    providers: dict[str, str]
    provider_names: dict[str, str]
    clouds: dict[str, CloudRules]
    distrusted: dict[str, str]
    gcp_hosts: dict[str, str]
    gcp_g2_gpus: dict[str, int]
    country_words: dict[str, str]
    regions: dict[str, tuple[tuple[str, str], ...]]


@functools.cache
def knowledge() -> Knowledge:
    """The bundled facts, read once a process."""
    known: Knowledge = read("importers.json", Knowledge)
    return known


def provider_id(name: str) -> str:
    """The catalogue's id of a provider that a source calls *name*."""
    folded = re.sub(r"[^a-z0-9._-]+", "-", name.strip().lower()).strip("-._")
    return knowledge().providers.get(folded, folded)


def provider_name(provider: str) -> str:
    """What to call a provider that has no row yet."""
    return knowledge().provider_names.get(provider, provider)


@functools.lru_cache(maxsize=4096)
def country_of(provider: str, region: str | None) -> str | None:
    """The ISO code of the country that a region lies in, by the provider's patterns or by a country's name in it."""
    if not region:
        return None
    known = knowledge()
    for pattern, code in (*known.regions.get(provider, ()), *known.regions["*"]):
        found = re.search(pattern, region)
        if found:
            return found[1].upper() if code == "$1" else code
    words = re.split(r"[^a-z]+", region.lower())
    return next((known.country_words[word] for word in words if word in known.country_words), None)


def distrusted(importer: str, provider: str) -> str | None:
    """Why rows of *provider* in this source are not to be believed; None where nothing speaks against them."""
    return knowledge().distrusted.get(f"{importer}/{provider}")
