"""Operations that take parameters."""

from __future__ import annotations

import pytest

from cardmatch.http.door import Door
from tests.http.asking import ask


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/things/l4", {"thing_id": "l4", "limit": 5, "tags": []}),
        ("/things/l4?limit=7", {"thing_id": "l4", "limit": 7, "tags": []}),
        ("/things/l4?tags=a&tags=b", {"thing_id": "l4", "limit": 5, "tags": ["a", "b"]}),
        ("/things/l4?tags=a", {"thing_id": "l4", "limit": 5, "tags": ["a"]}),
        ("/things/l4?exact=true", {"thing_id": "l4", "limit": 5, "tags": []}),
        ("/things/meta%2Fllama", {"thing_id": "meta/llama", "limit": 5, "tags": []}),
        ("/things/meta/llama", {"thing_id": "meta/llama", "limit": 5, "tags": []}),
        ("/things/%E5%8D%83/b?tags=%E5%8D%83+c", {"thing_id": "千/b", "limit": 5, "tags": ["千 c"]}),
    ],
)
def test_parameters_are_read(sample: Door, url: str, shown: dict[str, object]) -> None:
    """Path and query become one typed struct; an id may have a slash in it."""
    response = ask(sample, "GET", url)
    assert (response.status, response.json()) == (200, shown)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=99", "/limit"),
        ("limit=0", "/limit"),
        ("limit=x", "/limit"),
        ("limit=", "/limit"),
        ("limit=1&limit=2", "/limit"),
        ("limit=+1", "/limit"),
        ("limit=1_0", "/limit"),
        ("limit=null", "/limit"),
        ("exact=perhaps", "/exact"),
        ("exact=1", "/exact"),
        ("exact=null", "/exact"),
        ("exact=", "/exact"),
        ("language=null", "/language"),
        ("tags=a&tags=b&tags=c&tags=d", "/tags"),
        ("lmit=1", "/lmit"),
        ("language=de", "/language"),
        ("thing_id=other", "/thing_id"),
    ],
)
def test_parameters_are_checked(sample: Door, query: str, pointer: str) -> None:
    """Bounds hold, what is unknown is refused, and so is a repetition that would go unnoticed."""
    response = ask(sample, "GET", f"/things/l4?{query}")
    assert response.status == (404 if pointer == "/thing_id" else 422)
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


def test_too_many_parameters_are_refused(sample: Door) -> None:
    """A query of a thousand parameters is not even looked at."""
    response = ask(sample, "GET", "/things/l4?" + "&".join(f"a{n}=1" for n in range(1000)))
    assert (response.status, response.json()["type"]) == (400, "/docs/problems/malformed_request")


def test_an_answer_that_has_not_changed_is_not_sent_again(sample: Door) -> None:
    """The ETag of a cached answer gives 304 until the catalogue, the release or the language changes."""
    first = ask(sample, "GET", "/things/l4")
    tag = first.headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        again = ask(sample, "GET", "/things/l4", headers={"if-none-match": known})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert ask(sample, "GET", "/things/l4", headers={"if-none-match": '"other"'}).status == 200
    assert ask(sample, "GET", "/things/l4", headers={"if-none-match": tag, "accept-language": "es"}).status == 200
    assert ask(sample, "GET", "/things/l5", headers={"if-none-match": tag}).status in {304, 404}


def test_an_answer_may_be_kept_for_a_minute(sample: Door) -> None:
    """Caches are told so with the answer, and again when it has not changed; problems say nothing of the kind."""
    first = ask(sample, "GET", "/things/l4")
    again = ask(sample, "GET", "/things/l4", headers={"if-none-match": first.headers["etag"]})
    assert (
        first.headers["cache-control"] == again.headers["cache-control"] == "public, max-age=60, stale-if-error=86400"
    )
    assert "cache-control" not in ask(sample, "GET", "/things/l4?limit=99").headers


def test_a_get_reads_no_body(sample: Door) -> None:
    """Whatever is sent along is left alone."""
    assert ask(sample, "GET", "/things/l4", body="x" * 100).status == 200
