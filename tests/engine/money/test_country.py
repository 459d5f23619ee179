"""Conditions on countries: codes and groups become a set of codes."""

import pytest

from cardmatch.engine.money.country import Country, CountryGroup, is_member, select
from cardmatch.engine.terms.fault import FaultCode, Invalid


def country(code: str, **facts: bool | None) -> Country:
    """A country outside every group but those given."""
    defaults: dict[str, bool | None] = {
        "eu": False,
        "eea": False,
        "gdpr_adequacy": False,
        "five_eyes": False,
        "nine_eyes": False,
        "fourteen_eyes": False,
    }
    return Country(code=code, name=code, **{**defaults, **facts})  # type: ignore[arg-type] # keywords by name


NETHERLANDS = country("NL", eu=True, eea=True, gdpr_adequacy=None, nine_eyes=True, fourteen_eyes=True)
SWITZERLAND = country("CH", gdpr_adequacy=True)
ICELAND = country("IS", eea=True, gdpr_adequacy=None)
COUNTRIES = {each.code: each for each in (NETHERLANDS, SWITZERLAND, ICELAND)}


def test_codes_and_groups_add_up() -> None:
    """A condition may mix both."""
    assert select(COUNTRIES, ["eea", "CH"]) == {"NL", "IS", "CH"}
    assert select(COUNTRIES, ["nine_eyes"]) == {"NL"}
    assert select(COUNTRIES, []) == frozenset()


def test_adequate_is_a_decision_of_the_commission() -> None:
    """Inside the EEA the law itself applies, so no decision exists."""
    assert is_member(SWITZERLAND, CountryGroup.ADEQUATE)
    assert not is_member(NETHERLANDS, CountryGroup.ADEQUATE)


def test_an_unknown_code_is_refused_where_it_stands() -> None:
    """The pointer names the position in the list."""
    with pytest.raises(Invalid) as refusal:
        select(COUNTRIES, ["NL", "XX"])
    (fault,) = refusal.value.faults
    assert (fault.code, fault.pointer) == (FaultCode.UNKNOWN_COUNTRY, "/1")
