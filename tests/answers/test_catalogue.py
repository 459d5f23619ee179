"""GET /catalogue: what answers, how fresh it is, and what a request may pin."""

import msgspec

from cardmatch.answers.catalogue import CatalogueQuery, counts, show_catalogue
from cardmatch.catalogue.feed import FeedOutcome
from cardmatch.catalogue.world import bundled, succeed

WORLD = bundled()


def test_the_snapshot_is_described() -> None:
    """Version, day and counts are those of the data files."""
    answer = show_catalogue(WORLD, CatalogueQuery())
    assert answer.version == WORLD.version
    assert answer.as_of == WORLD.as_of
    assert (answer.counts.cards, answer.counts.offers, answer.counts.providers) == (63, 313, 38)
    assert 0 < answer.counts.priced_offers < answer.counts.offers
    assert [kept.version for kept in answer.kept] == [WORLD.version]


def test_every_providers_freshness_is_told() -> None:
    """One feed for each provider with offers, with the days between which they were read."""
    feeds = show_catalogue(WORLD, CatalogueQuery()).feeds
    assert {feed.provider for feed in feeds} == {offer.provider for offer in WORLD.offers.values()}
    assert {feed.outcome for feed in feeds} == {FeedOutcome.BUNDLED}


def test_kept_versions_are_listed_newest_first() -> None:
    """A pinned one can be described too."""
    newer = succeed(WORLD, msgspec.structs.replace(WORLD, version="f" * 64, offers={}))
    answer = show_catalogue(newer, CatalogueQuery())
    assert [kept.version for kept in answer.kept] == ["f" * 64, WORLD.version]
    assert show_catalogue(newer, CatalogueQuery(catalogue_version=WORLD.version[:8])).counts.offers == 313


def test_every_kind_of_row_is_counted() -> None:
    """Models too, which travel with the release rather than with the snapshot."""
    found = counts(bundled())
    assert found.models == len(bundled().models) > 0
