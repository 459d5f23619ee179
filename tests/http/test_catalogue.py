"""The listings over HTTP: the service's own operations, asked as a client asks them."""

from __future__ import annotations

import pytest

from cardmatch.catalogue.world import bundled
from cardmatch.http.door import Door
from cardmatch.http.operations import OPERATIONS
from cardmatch.http.router import build
from cardmatch.settings import Settings
from tests.http.asking import ask

WORLD = bundled()
LISTINGS = ("/catalogue", "/cards", "/cards/rtx-4090", "/offers", "/providers")


@pytest.fixture(scope="module")
def api() -> Door:
    """The service with the bundled catalogue."""
    return build(OPERATIONS, bundled, Settings())


@pytest.mark.parametrize("path", LISTINGS)
def test_a_listing_names_its_snapshot(api: Door, path: str) -> None:
    """Every answer says which version it was made from, and which release made it."""
    response = ask(api, "GET", path)
    assert response.status == 200
    answer = response.json()
    assert answer.get("version", answer.get("catalogue", {}).get("version")) == WORLD.version
    assert answer["release"]


@pytest.mark.parametrize("path", LISTINGS)
def test_a_listing_is_sent_once(api: Door, path: str) -> None:
    """With its ETag the same listing is 304; HEAD has the headers alone."""
    first = ask(api, "GET", path)
    assert ask(api, "GET", path, headers={"if-none-match": first.headers["etag"]}).status == 304
    head = ask(api, "HEAD", path)
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", first.headers["etag"])


def test_following_the_cursor_lists_everything(api: Door) -> None:
    """A client that follows `next_cursor` sees every offer once, in order."""
    page = ask(api, "GET", "/offers?limit=100").json()
    ids = [offer["id"] for offer in page["offers"]]
    while page["next_cursor"]:
        page = ask(api, "GET", f"/offers?limit=100&cursor={page['next_cursor']}").json()
        ids += [offer["id"] for offer in page["offers"]]
    assert ids == list(WORLD.offers)
    assert page["total"] == len(ids)


def test_conditions_come_through_the_query(api: Door) -> None:
    """Repeated parameters are alternatives; numbers, dates and truth values are read from text."""
    query = (
        "card=h100&card=4090&server_country=IS&server_country=eu&max_usd_per_hour=5.5&spot=false&as_of_from=2026-04-01"
    )
    page = ask(api, "GET", f"/offers?{query}&order=price").json()
    assert page["total"] > 0
    for offer in page["offers"]:
        assert offer["server_country"] == "IS" or WORLD.countries[offer["server_country"]].eu
        assert offer["usd_per_hour"] <= 5.5
        assert offer["spot_usd_per_hour"] is None


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("/offers?limit=0", "/limit"),
        ("/offers?limit=201", "/limit"),
        ("/offers?order=cheapest", "/order"),
        ("/offers?max_usd_per_hour=nan", "/max_usd_per_hour"),
        ("/offers?max_usd_per_hour=inf", "/max_usd_per_hour"),
        ("/offers?card=nonsense", "/card/0"),
        ("/offers?provider=nobody", "/provider/0"),
        ("/offers?server_country=usa", "/server_country/0"),
        ("/offers?server_country=XX", "/server_country/0"),
        ("/offers?as_of_from=yesterday", "/as_of_from"),
        ("/offers?cursor=x", "/cursor"),
        ("/offers?catalogue_version=latest", "/catalogue_version"),
        ("/offers?catalogue_version=00000000", "/catalogue_version"),
        ("/offers?colour=red", "/colour"),
        ("/cards?min_memory_gb=0", "/min_memory_gb"),
        ("/cards?vendor=matrox", "/vendor"),
        ("/providers?payment_method=gold", "/payment_method/0"),
    ],
)
def test_a_condition_that_cannot_be_is_refused(api: Door, path: str, pointer: str) -> None:
    """422, with a pointer to the parameter and its position."""
    response = ask(api, "GET", path)
    assert response.status == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


def test_a_version_that_is_gone_says_which_are_kept(api: Door) -> None:
    """The sentence names the version that answers now."""
    (error,) = ask(api, "GET", "/offers?catalogue_version=00000000").json()["errors"]
    assert WORLD.version in error["detail"]


@pytest.mark.parametrize(
    ("path", "suggestion"),
    [("/cards/rtx-4o90", "rtx-4090"), ("/cards/h100", "h100-sxm-80"), ("/cards/a100-80g", "a100-pcie-80")],
)
def test_a_card_that_is_not_one_is_not_found(api: Door, path: str, suggestion: str) -> None:
    """404, with the cards that may have been meant."""
    response = ask(api, "GET", path)
    assert response.status == 404
    assert suggestion in response.json()["errors"][0]["suggestions"]


@pytest.mark.parametrize("path", ["/cards/NVIDIA%20GeForce%20RTX%204090", "/cards/4090", "/cards/RTX-4090"])
def test_a_card_is_found_by_what_people_call_it(api: Door, path: str) -> None:
    """The answer has the id."""
    assert ask(api, "GET", path).json()["card"]["id"] == "rtx-4090"


def test_a_problem_speaks_the_callers_language(api: Door) -> None:
    """Spanish and Chinese, by header or by parameter."""
    spanish = ask(api, "GET", "/offers?card=nonsense", headers={"accept-language": "es"}).json()
    chinese = ask(api, "GET", "/offers?card=nonsense&language=zh").json()
    english = ask(api, "GET", "/offers?card=nonsense").json()
    assert len({body["errors"][0]["detail"] for body in (spanish, chinese, english)}) == 3
    unread = ask(api, "GET", "/offers?limit=0&language=zh")
    assert unread.headers["content-language"] == "zh"
