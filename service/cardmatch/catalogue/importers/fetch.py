"""Fetching a price list over HTTPS: conditional, bounded in size and time, never off to another kind of address."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import pathlib
import ssl
import time
import urllib.request
from collections.abc import Mapping
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from cardmatch.catalogue.importers.files import Unreadable

LARGEST_BYTES = 64 << 20
CONNECT_SECONDS = 10.0
TOTAL_SECONDS = 120.0
_REDIRECTS = 3
_CHUNK = 1 << 16
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Fetched(msgspec.Struct, frozen=True):
    """A body, and whether it is the one that was fetched before (the server said 304)."""

    body: bytes
    unchanged: bool


class _Kept(msgspec.Struct, frozen=True):
    etag: str | None
    last_modified: str | None


def fetch(
    url: str,
    *,
    cache: pathlib.Path | None = None,
    headers: Mapping[str, str] | None = None,
    largest_bytes: int = LARGEST_BYTES,
    total_seconds: float = TOTAL_SECONDS,
) -> Fetched:
    """The body at *url*, from the folder *cache* where the server says that it has not changed. Raises Unreadable.

    HTTPS goes through the proxy that the environment names (HTTPS_PROXY, NO_PROXY). Plain HTTP is only spoken to this
    machine; a redirect is followed three times, and the headers (keys) stay behind when it leaves the host.
    """
    kept, body_path, meta_path = _cached(url, cache)
    conditional = {
        name: value
        for name, value in (("If-None-Match", kept.etag), ("If-Modified-Since", kept.last_modified))
        if value is not None
    }
    deadline = time.monotonic() + total_seconds
    try:
        status, answered, body = _follow(url, {**(headers or {}), **conditional}, largest_bytes, deadline)
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise Unreadable(f"{url}: {str(problem) or type(problem).__name__}") from problem
    if status == http.client.NOT_MODIFIED and body_path is not None and body_path.exists():
        return Fetched(body_path.read_bytes(), unchanged=True)
    if status != http.client.OK:
        raise Unreadable(f"{url}: the server answered {status}")
    if body_path is not None and meta_path is not None:
        _keep(body, body_path, _Kept(answered.get("etag"), answered.get("last-modified")), meta_path)
    return Fetched(body, unchanged=False)


def _cached(url: str, cache: pathlib.Path | None) -> tuple[_Kept, pathlib.Path | None, pathlib.Path | None]:
    if cache is None:
        return _Kept(None, None), None, None
    cache.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(url.encode()).hexdigest()[:32]
    body, meta = cache / f"{name}.body", cache / f"{name}.json"
    try:
        return msgspec.json.decode(meta.read_bytes(), type=_Kept) if body.exists() else _Kept(None, None), body, meta
    except (OSError, msgspec.DecodeError):
        return _Kept(None, None), body, meta


def _keep(body: bytes, body_path: pathlib.Path, kept: _Kept, meta_path: pathlib.Path) -> None:
    """For the next time. A full disk costs the next answer, not this one, nor is half a body taken for a whole."""
    with contextlib.suppress(OSError):
        meta_path.unlink(missing_ok=True)
        body_path.write_bytes(body)
        meta_path.write_bytes(msgspec.json.encode(kept))


def _follow(url: str, headers: Mapping[str, str], largest: int, deadline: float) -> tuple[int, dict[str, str], bytes]:
    for _ in range(_REDIRECTS + 1):
        status, answered, body = _get(urlsplit(url), headers, largest, deadline)
        if status not in {301, 302, 303, 307, 308} or "location" not in answered:
            return status, answered, body
        target = urljoin(url, answered["location"])
        if urlsplit(target).netloc != urlsplit(url).netloc:
            headers = {}
        url = target
    raise ValueError(f"more than {_REDIRECTS} redirects")


def _get(
    target: SplitResult, headers: Mapping[str, str], largest: int, deadline: float
) -> tuple[int, dict[str, str], bytes]:
    connection = _connection(target)
    try:
        path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        connection.request("GET", path, headers={"Accept": "*/*", "User-Agent": "cardmatch", **headers})
        answer = connection.getresponse()
        return (
            answer.status,
            {key.lower(): value for key, value in answer.getheaders()},
            _read(answer, largest, deadline),
        )
    finally:
        connection.close()


def _connection(target: SplitResult) -> http.client.HTTPConnection:
    host = target.hostname or ""
    if target.scheme == "https":
        context = ssl.create_default_context()
        proxy = urllib.request.getproxies().get("https")
        if proxy is None or urllib.request.proxy_bypass(host):
            return http.client.HTTPSConnection(host, target.port, timeout=CONNECT_SECONDS, context=context)
        way = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        tunnel = http.client.HTTPSConnection(way.hostname or "", way.port, timeout=CONNECT_SECONDS, context=context)
        tunnel.set_tunnel(host, target.port or http.client.HTTPS_PORT)
        return tunnel
    if target.scheme == "http" and host in _LOOPBACK:
        return http.client.HTTPConnection(host, target.port, timeout=CONNECT_SECONDS)
    raise ValueError("only https:// (and http:// to this machine) is fetched")


def _read(answer: http.client.HTTPResponse, largest: int, deadline: float) -> bytes:
    """The body, chunk by chunk, so that neither a large nor a slow one holds up the run."""
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > largest:
            raise ValueError(f"larger than {largest >> 20} MiB")
        if time.monotonic() > deadline:
            raise TimeoutError("took too long")
    return b"".join(parts)
