"""GET /providers: terms of business as conditions, and null meets none of them."""

from typing import Any

import pytest

from cardmatch.answers.providers import ProvidersQuery, list_providers
from cardmatch.catalogue.world import bundled
from cardmatch.engine.money.provider import Bandwidth, Billing, IdentityCheck, PaymentMethod

WORLD = bundled()


def listed(**query: Any) -> list[str]:
    """The ids on one long page."""
    return [row.id for row in list_providers(WORLD, ProvidersQuery(**{"limit": 200, **query})).providers]


def test_all_providers_are_listed_by_id() -> None:
    """Without a condition the listing is the data file."""
    assert listed() == list(WORLD.providers)


def test_an_unknown_identity_check_is_not_none() -> None:
    """Only ChainVPS is said to ask for no document; everybody else's practice is unknown."""
    assert listed(identity_check=IdentityCheck.NONE) == ["chainvps"]


def test_a_provider_of_both_billings_meets_either() -> None:
    """Cloudzy takes a balance as well as a recurring charge."""
    assert "cloudzy" in listed(billing=Billing.PREPAID)
    assert "cloudzy" in listed(billing=Billing.POSTPAID)
    assert "runpod" not in listed(billing=Billing.POSTPAID)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ({"bandwidth": Bandwidth.UNMETERED}, lambda row: row.bandwidth == "unmetered"),
        ({"payment_method": (PaymentMethod.MONERO,)}, lambda row: "monero" in (row.payment_methods or ())),
        ({"server_country": ("CH",)}, lambda row: "CH" in (row.server_countries or ())),
        ({"company_country": ("eu",)}, lambda row: row.company_country in {"FR", "NL", "DE", "FI", "IT", "SE", "RO"}),
    ],
)
def test_conditions_keep_what_meets_them(query: dict[str, Any], holds: Any) -> None:
    """Compared with the data file, row by row."""
    rows = [row.id for row in WORLD.providers.values() if holds(row)]
    assert listed(**query) == rows
    assert rows
