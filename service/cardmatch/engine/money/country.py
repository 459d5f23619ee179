"""Where a server stands and where its company sits: the unions, laws and alliances that a country belongs to.

Membership of the Nine and Fourteen Eyes rests on press and leaks (only UKUSA is published): it is a label with a
source, never a promise of safety.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch.engine.money.amounts import CountryCode
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid

CountrySelector = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=60,
        examples=["DE", "eu"],
        description="ISO 3166-1 alpha-2 code, or a group: eu, eea, adequate, five_eyes, nine_eyes, fourteen_eyes.",
    ),
]


class CountryGroup(StrEnum):
    """Groups of countries that a condition may name. Five Eyes are among the nine, the nine among the fourteen."""

    EU = "eu"
    EEA = "eea"
    ADEQUATE = "adequate"
    FIVE_EYES = "five_eyes"
    NINE_EYES = "nine_eyes"
    FOURTEEN_EYES = "fourteen_eyes"


_GROUPS = {group.value: group for group in CountryGroup}
_ALSO = {"uk": "GB", "usa": "US", "european union": "eu", "europe": "eu"}
_NEAR = 0.5
"""Half of the letters: one of a code's two."""


class Country(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One country. `gdpr_adequacy` is null inside the EEA, where the GDPR itself applies; a scope narrows it."""

    code: CountryCode
    name: Annotated[str, Meta(min_length=1, max_length=80)]
    eu: bool
    eea: bool
    gdpr_adequacy: bool | None
    gdpr_adequacy_scope: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    five_eyes: bool
    nine_eyes: bool
    fourteen_eyes: bool
    note: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


def is_member(country: Country, group: CountryGroup) -> bool:
    """Whether the country belongs to the group; `adequate` is a decision of the Commission, so never an EEA state."""
    if group is CountryGroup.ADEQUATE:
        return country.gdpr_adequacy is True
    return bool(getattr(country, group.value))


def select(countries: Mapping[str, Country], selectors: Iterable[str]) -> frozenset[str]:
    """The codes that *selectors* (codes and groups) name together.

    Raises Invalid: `unknown_country` at the position of a code that *countries* lacks.
    """
    chosen: set[str] = set()
    for position, selector in enumerate(selectors):
        group = _GROUPS.get(selector)
        if group is not None:
            chosen.update(code for code, country in countries.items() if is_member(country, group))
        elif selector in countries:
            chosen.add(selector)
        else:
            raise Invalid(
                Fault(
                    code=FaultCode.UNKNOWN_COUNTRY,
                    pointer=f"/{position}",
                    params={"country": selector},
                    suggestions=_meant(countries, selector),
                )
            )
    return frozenset(chosen)


def _meant(countries: Mapping[str, Country], selector: str) -> tuple[str, ...]:
    """Codes and groups that *selector* may stand for: written otherwise, by its name, or nearly so."""
    said = selector.casefold().strip()
    names = {country.name.casefold(): code for code, country in countries.items()}
    names |= {code.casefold(): code for code in countries} | {group: group for group in _GROUPS} | _ALSO
    if said in names:
        return (names[said],)
    return tuple(dict.fromkeys(names[near] for near in get_close_matches(said, names, n=3, cutoff=_NEAR)))
