"""Asking a Hugging Face-compatible hub what a model is: three small files at one revision, from one host.

The API's answer about a model has its revision (commit), its files and the elements of each safetensors dtype; the
configurations are read at that revision. Weights, which hubs keep on other hosts, are never touched.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec
from msgspec import Meta

from cardmatch.catalogue.guests import Guest
from cardmatch.engine.models.fit import DTYPE_BYTES

LARGEST_BYTES = 1 << 20
"""Of one answer; the largest config.json of a public model has some 200 kB."""
TOTAL_SECONDS = 8.0
_CONNECT_SECONDS = 2.0
_READ_SECONDS = 4.0
_REDIRECTS = 3
_MOST_FILES = 20_000


class NotThere(Exception):  # noqa: N818 - what the model is
    """The hub says that there is no such model, or not for us; asking again would not help."""


class Failed(Exception):  # noqa: N818 - what the hub did
    """The hub did not answer, or not with what it should; later it may."""


class _File(msgspec.Struct, frozen=True):
    rfilename: Annotated[str, Meta(max_length=1000)]


class _Safetensors(msgspec.Struct, frozen=True):
    parameters: Annotated[dict[str, Annotated[int, Meta(ge=0, le=10**15)]], Meta(max_length=32)] = {}


class _Info(msgspec.Struct, frozen=True):
    sha: Annotated[str, Meta(pattern=r"^[0-9a-f]{7,64}$(?!\n)")]
    siblings: Annotated[tuple[_File, ...], Meta(max_length=_MOST_FILES)] = ()
    safetensors: _Safetensors | None = None


class HubClient:
    """One hub. Only its scheme, host and port are ever asked."""

    def __init__(self, url: str, token: str = "") -> None:
        """*url* may have a path, which goes before every other; *token* is sent to this host alone."""
        self._base = url.rstrip("/") + "/"
        self._origin = urlsplit(url)[:2]
        headers = {"User-Agent": "cardmatch", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        timeout = httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout, follow_redirects=False)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def model(self, id_: str) -> Guest:
        """What the hub holds under *id_*, which `is_hub_id`. Raises NotThere, Failed."""
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await self._model(id_)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as problem:
            raise Failed(f"{type(problem).__name__}: {problem}"[:300]) from problem

    async def _model(self, id_: str) -> Guest:
        info: _Info = _decoded(await self._get(f"api/models/{id_}"), _Info)
        names = {file.rfilename for file in info.siblings}
        if names and "config.json" not in names:
            raise NotThere("it has no config.json")
        config = _decoded(await self._get(f"{id_}/resolve/{info.sha}/config.json"), dict[str, Any])
        quantization = None
        if "hf_quant_config.json" in names:
            quantization = _decoded(await self._get(f"{id_}/resolve/{info.sha}/hf_quant_config.json"), dict[str, Any])
        return Guest(
            id=id_,
            revision=info.sha,
            config=config,
            quantization=quantization,
            safetensors=_elements(info.safetensors),
        )

    async def _get(self, path: str) -> bytes:
        url = self._base + path
        for _ in range(_REDIRECTS + 1):
            async with self._http.stream("GET", url) as answer:
                if answer.has_redirect_location:
                    url = self._same_host(urljoin(url, answer.headers["location"]))
                    continue
                if answer.status_code in {401, 403, 404, 410}:
                    raise NotThere(f"the hub answers {answer.status_code}")
                if answer.status_code != httpx.codes.OK:
                    raise Failed(f"the hub answers {answer.status_code}")
                return await _read(answer)
        raise Failed(f"more than {_REDIRECTS} redirects")

    def _same_host(self, url: str) -> str:
        if urlsplit(url)[:2] != self._origin:
            raise Failed("a redirect to another host")
        return url


async def _read(answer: httpx.Response) -> bytes:
    """The body, counted as it is unpacked, so that a small one cannot become a large one."""
    parts, size = [], 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > LARGEST_BYTES:
            raise Failed(f"an answer of more than {LARGEST_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)


def _decoded(raw: bytes, shape: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise Failed(f"not what a hub answers: {problem}"[:300]) from problem


def _elements(found: _Safetensors | None) -> dict[str, int] | None:
    """Elements of each dtype, where we know what each takes."""
    if found is None or not found.parameters or not found.parameters.keys() <= DTYPE_BYTES.keys():
        return None
    return found.parameters
