"""Documentation that works without a network."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from cardmatch.http.door import Door
from cardmatch.http.pages import ASSETS
from cardmatch.http.problems import STATUS
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType, title
from tests.http.asking import ask

PAGES = ["/docs", "/docs/problems", *(f"/docs/problems/{kind}" for kind in ProblemType)]


@pytest.mark.parametrize("url", PAGES)
def test_a_page_loads_nothing_from_elsewhere(sample: Door, url: str) -> None:
    """No page names another host, everything it loads is served here, and its policy forbids the rest."""
    page = ask(sample, "GET", url)
    text = page.body.decode()
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert re.findall(r"(?:https?:)?//[a-z0-9]", text) == []
    loaded = re.findall(r'(?:src|href|data-document)="(/[^"]*)"', text)
    assert loaded
    for path in loaded:
        assert ask(sample, "GET", path).status == 200, path
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_the_documentation_reads_the_document(sample: Door) -> None:
    """The page hands Swagger UI our own document and has no online validator."""
    page = ask(sample, "GET", "/docs").body.decode()
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
