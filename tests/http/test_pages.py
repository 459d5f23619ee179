"""Documentation that works without a network."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from cardmatch.http.documentation.markdown import rendered
from cardmatch.http.documentation.shelf import titles
from cardmatch.http.door import Door
from cardmatch.http.pages import ASSETS
from cardmatch.http.problems import STATUS
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType, title
from tests.http.asking import ask
from tests.http.sample import ASK, SHOW

WRITTEN = [f"/docs/{page}" for pages in titles().values() for page in pages]
ENDPOINTS = [f"/docs/endpoints/{operation.name}" for operation in (ASK, SHOW)]
PROBLEMS = [f"/docs/problems/{kind}" for kind in ProblemType]
PAGES = ["/docs", "/docs/try", "/docs/endpoints", "/docs/problems", *WRITTEN, *ENDPOINTS, *PROBLEMS]


class _Links(HTMLParser):
    """What a page leads to, what it loads, and the places in it that can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.leads: set[str] = set()
        self.loads: set[str] = set()
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect those of one tag."""
        given = {name: value or "" for name, value in attrs}
        self.places.update(given[name] for name in ("id",) if name in given)
        if tag == "a":
            self.leads.add(given["href"])
        else:
            self.loads.update(given[name] for name in ("src", "href", "data-document") if name in given)


def links(app: Door, url: str) -> _Links:
    """Those of the page at *url*, which must be there."""
    page = ask(app, "GET", url)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8"), url
    found = _Links()
    found.feed(page.body.decode())
    return found


@pytest.mark.parametrize("url", PAGES)
def test_a_page_loads_nothing_from_elsewhere(sample: Door, url: str) -> None:
    """Everything it loads is served here, and its policy forbids the rest."""
    loads = links(sample, url).loads - {"data:,"}
    assert loads
    for path in loads:
        assert path.startswith("/"), path
        assert not path.startswith("//"), path
        assert ask(sample, "GET", path).status == 200, path
    policy = ask(sample, "GET", url).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


@pytest.mark.parametrize("url", PAGES)
def test_every_link_leads_somewhere(sample: Door, url: str) -> None:
    """To a page that is there and, where it names one, to a place on it."""
    for link in links(sample, url).leads:
        path, _, place = link.partition("#")
        if path.startswith("http"):
            continue
        if place:
            assert place in links(sample, path or url).places, link
        else:
            assert ask(sample, "GET", path).status == 200, link


def test_every_page_can_be_reached(root: Path, sample: Door) -> None:
    """From `/docs`, by links alone: the pages of docs/, one for each operation, and one for each kind of problem."""
    seen, waiting = set(), ["/docs"]
    while waiting:
        url = waiting.pop()
        seen.add(url)
        found = {link.partition("#")[0] for link in links(sample, url).leads}
        waiting += sorted(link for link in found if link.startswith("/docs") and link not in seen | set(waiting))
    on_disk = {f"/docs/{path.stem}" for path in (root / "docs").glob("*.md")} - {"/docs/index"}
    assert on_disk == set(WRITTEN)
    assert seen == set(PAGES)


def test_the_root_says_where_everything_is(sample: Door) -> None:
    """A program gets the addresses, somebody with a browser is led to the documentation."""
    told = ask(sample, "GET", "/")
    assert (told.status, told.json()["docs"], told.json()["openapi"]) == (200, "/docs", "/openapi.json")
    led = ask(sample, "GET", "/", headers={"accept": "text/html,*/*;q=0.8"})
    assert (led.status, led.headers["location"]) == (303, "/docs")
    assert told.headers["vary"] == led.headers["vary"] == "accept"


def test_markup_in_a_page_is_shown_and_not_obeyed() -> None:
    """Pages hold what is said of requests, and a placeholder in angle brackets is no tag."""
    assert rendered("a <b>c</b> `<vms>.csv`") == "<p>a &lt;b&gt;c&lt;/b&gt; <code>&lt;vms&gt;.csv</code></p>\n"


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[a](settings.md)", '<a href="/docs/settings">a</a>'),
        ("[a](redis.md#what-lies-there)", '<a href="/docs/redis#what-lies-there">a</a>'),
        ("[a](index.md)", '<a href="/docs">a</a>'),
        ("[a](../openapi/openapi.json)", '<a href="/openapi.json">a</a>'),
        ("[a `b`](../SECURITY.md) [c](#d)", 'a <code>b</code> <a href="#d">c</a>'),
    ],
)
def test_links_between_files_become_links_between_pages(link: str, becomes: str) -> None:
    """What is not served stays as words."""
    assert rendered(link) == f"<p>{becomes}</p>\n"


def test_a_page_of_an_operation_says_all_of_it(sample: Door) -> None:
    """Fields with types, bounds, defaults and words, those that must be given, and what is refused."""
    page = ask(sample, "GET", "/docs/endpoints/ask").body.decode()
    text = re.sub(r"<[^>]+>", "", page.replace("</td>", " | ").replace("</th>", " | "))
    assert "model | string or ById or ByShape | required | " in text
    assert "layers | integer, ≥ 1 and ≤ 100 | required | " in html.unescape(text)
    assert "share | number, ≥ 0 and ≤ 1 | 0.5 | " in html.unescape(text)
    assert "format | Format | &quot;fp16&quot; | A closed vocabulary. | " in text
    assert "fp16, int8" in text
    assert "on | date |  |  | " in text
    assert "413" in text
    shown = ask(sample, "GET", "/docs/endpoints/showThing").body.decode()
    assert "How many." in shown


def test_what_can_be_tried_reads_the_document(sample: Door) -> None:
    """The page hands Swagger UI our own document and has no online validator."""
    page = ask(sample, "GET", "/docs/try").body.decode()
    assert 'data-document="/openapi.json"' in page
    start = (resources.files("cardmatch.http") / "assets" / "start.js").read_text()
    assert "validatorUrl: null" in start


@pytest.mark.parametrize("name", ASSETS)
def test_assets_come_packed_or_not(sample: Door, name: str) -> None:
    """Whoever accepts gzip gets it, everybody else the same file plain; both may be kept for ever."""
    found = re.search(r"/docs/assets/[^/]+/", ask(sample, "GET", "/docs").body.decode())
    assert found
    plain = ask(sample, "GET", found[0] + name)
    packed = ask(sample, "GET", found[0] + name, headers={"accept-encoding": "gzip, br"})
    assert plain.status == packed.status == 200
    assert "content-encoding" not in plain.headers
    assert len(packed.body) <= len(plain.body)
    assert "immutable" in plain.headers["cache-control"]


def test_vendored_assets_keep_their_licence() -> None:
    """What others wrote lies beside its licence."""
    folder = resources.files("cardmatch.http") / "assets"
    assert "Apache License" in (folder / "LICENSE.swagger-ui").read_text()
    assert "SmartBear" in (folder / "NOTICE.swagger-ui").read_text()


@pytest.mark.parametrize("kind", ProblemType)
def test_each_kind_of_problem_has_a_status_and_a_page_in_every_language(sample: Door, kind: ProblemType) -> None:
    """The `type` of a problem leads to its words."""
    text = ask(sample, "GET", f"/docs/problems/{kind}").body.decode()
    assert str(STATUS[kind]) in text
    for language in Language:
        assert title(kind, language).replace("'", "&#x27;") in text
