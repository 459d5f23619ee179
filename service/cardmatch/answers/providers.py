"""GET /providers: who rents out cards. A fact that is null never meets a condition."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from cardmatch import __version__
from cardmatch.answers.facts import CatalogueFacts, CatalogueVersion, catalogue_facts
from cardmatch.answers.pages import CursorText, Limit, Place, page, snapshot_of
from cardmatch.catalogue.names.near import nearest
from cardmatch.catalogue.world import World
from cardmatch.engine.money.country import CountrySelector, select
from cardmatch.engine.money.provider import Bandwidth, Billing, IdentityCheck, PaymentMethod, Provider
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid
from cardmatch.text.language import Language

ProviderName = Annotated[str, Meta(min_length=1, max_length=64, description="A provider's id.", examples=["runpod"])]
Countries = Annotated[tuple[CountrySelector, ...], Meta(max_length=50)]


class ProvidersQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which providers to list; conditions add up, and the values of one condition are alternatives."""

    server_country: Countries = ()
    company_country: Countries = ()
    identity_check: IdentityCheck | None = None
    billing: Annotated[Billing, Meta(description="Providers that offer both meet prepaid and postpaid.")] | None = None
    payment_method: Annotated[tuple[PaymentMethod, ...], Meta(max_length=10)] = ()
    bandwidth: Bandwidth | None = None
    limit: Limit = 50
    cursor: CursorText | None = None
    catalogue_version: CatalogueVersion | None = None
    language: Language | None = None


class ProvidersPage(msgspec.Struct, frozen=True, kw_only=True):
    """Providers by id. Membership of the Nine and Fourteen Eyes rests on press and leaks: see the country's sources."""

    providers: tuple[Provider, ...]
    total: Annotated[int, Meta(ge=0, le=10**6, description="Providers that match, on all pages.")]
    next_cursor: str | None
    catalogue: CatalogueFacts
    release: str


def list_providers(world: World, query: ProvidersQuery) -> ProvidersPage:
    """The providers that meet every condition of *query*. Raises Invalid with pointers into it."""
    world = snapshot_of(world, query.catalogue_version, query.cursor)
    servers = chosen_countries(world, query.server_country, "/server_country")
    companies = chosen_countries(world, query.company_country, "/company_country")
    rows = [
        provider
        for provider in world.providers.values()
        if _stands_in(provider, servers, companies) and _meets(provider, query)
    ]
    shown, next_cursor = page(world, rows, _place, limit=query.limit, cursor=query.cursor)
    return ProvidersPage(
        providers=shown,
        total=len(rows),
        next_cursor=next_cursor,
        catalogue=catalogue_facts(world),
        release=__version__,
    )


def check_providers(world: World, names: tuple[str, ...], pointer: str) -> None:
    """Raises Invalid: `unknown_provider` below *pointer*, with the nearest ids, where a name is no provider's id."""
    for position, name in enumerate(names):
        if name not in world.providers:
            near = nearest(name, world.providers)
            place = f"{pointer}/{position}"
            raise Invalid(
                Fault(code=FaultCode.UNKNOWN_PROVIDER, pointer=place, params={"name": name}, suggestions=near)
            )


def chosen_countries(world: World, selectors: tuple[str, ...], pointer: str) -> frozenset[str]:
    """The codes that *selectors* name; empty where none is given. Raises Invalid: `unknown_country` below *pointer*."""
    try:
        return select(world.countries, selectors)
    except Invalid as unknown:
        raise unknown.under(pointer) from None


def _stands_in(provider: Provider, servers: frozenset[str], companies: frozenset[str]) -> bool:
    if servers and servers.isdisjoint(provider.server_countries or ()):
        return False
    return not companies or provider.company_country in companies


def _meets(provider: Provider, query: ProvidersQuery) -> bool:
    if query.identity_check is not None and provider.identity_check is not query.identity_check:
        return False
    if query.billing is not None and provider.billing not in (query.billing, Billing.BOTH):
        return False
    if query.payment_method and not set(query.payment_method) & set(provider.payment_methods or ()):
        return False
    return query.bandwidth in (None, provider.bandwidth)


def _place(provider: Provider) -> Place:
    return False, 0.0, provider.id
