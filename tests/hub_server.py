"""A hub for tests, over real HTTP on the loopback: models that were made up, and every way in which a hub may fail."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
MODEL = "acme/tiny-7"
# Embedding and head, and per layer: query and output, key and value, the three of the feed-forward, two norms.
PARAMETERS = 2 * 32000 * 1024 + 8 * (2 * 1024**2 + 2 * 1024 * 256 + 3 * 1024 * 4096 + 2 * 1024) + 1024

Respond = Callable[["_Handler"], None]


class HubServer:
    """Serves `files` of models by path; `instead` answers everything in another way. `asked` are the paths so far."""

    def __init__(self, port: int) -> None:
        """Holds MODEL alone."""
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[str] = []
        self.authorizations: set[str | None] = set()
        self.instead: Respond | None = None
        self.files: dict[str, Any] = {}
        self.add(MODEL, CONFIG, {"BF16": PARAMETERS})

    def add(self, id_: str, config: Any, elements: dict[str, int] | None = None, **others: Any) -> None:
        """Hold another model, with *others* beside its config: `hf_quant_config={…}`."""
        files = {"config.json": config, **{f"{name}.json": content for name, content in others.items()}}
        info = {"id": id_, "sha": REVISION, "siblings": [{"rfilename": name} for name in files], "private": False}
        if elements is not None:
            info["safetensors"] = {"parameters": elements, "total": sum(elements.values())}
        self.files[f"/api/models/{id_}"] = info
        for name, content in files.items():
            self.files[f"/{id_}/resolve/{REVISION}/{name}"] = content


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.hub.asked.append(self.path)
        self.hub.authorizations.add(self.headers["Authorization"])
        if self.hub.instead is not None:
            self.hub.instead(self)
        elif self.path in self.hub.files:
            self.say(200, json.dumps(self.hub.files[self.path]).encode())
        else:
            self.say(404, b'{"error": "Repository not found"}')

    def say(self, status: int, body: bytes, **headers: str) -> None:
        """One whole answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)


def says(status: int, body: bytes = b"{}", **headers: str) -> Respond:
    """Always the same answer."""
    return lambda handler: handler.say(status, body, **headers)


def hangs(seconds: float) -> Respond:
    """No answer for so long."""

    def respond(handler: _Handler) -> None:
        time.sleep(seconds)
        with suppress(OSError):  # who asked is gone by then
            handler.say(200, b"{}")

    return respond


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """A hub while the block runs."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub = HubServer(server.server_port)
    handler.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
