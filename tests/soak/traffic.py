"""Mixed traffic from threads, and what came of it."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

from tests.serving import Served

EXAMPLES = Path(__file__).resolve().parents[2] / "openapi" / "examples"
CLIENTS = 8


def requests() -> list[dict[str, Any]]:
    """Every example of the documentation: questions, listings and refusals, with the status that each is answered."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(EXAMPLES.glob("*.json"))]
    return [{**each["request"], "status": each["response"]["status"]} for each in found]


class Traffic:
    """Clients that ask one thing after another until they are stopped.

    `wrong` holds what came back otherwise than documented, `lost` how often each client got nothing whole.
    """

    def __init__(self, server: Served, clients: int = CLIENTS) -> None:
        self.answered = 0
        self.lost: Counter[int] = Counter()
        self.wrong: Counter[str] = Counter()
        self._server = server
        self._requests = requests()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Self:
        """Begin."""
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, each after its last answer."""
        self._stopping.set()
        for each in self._threads:
            each.join(timeout=30)

    def _ask(self, seed: int) -> None:
        chance = random.Random(seed)
        connection = self._server.connect(timeout=30)
        while not self._stopping.is_set():
            request = chance.choice(self._requests)
            try:
                status = _status(connection, request)
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.02)
                with self._lock:
                    self.lost[seed] += 1
                continue
            with self._lock:
                self.answered += 1
                if status != request["status"]:
                    self.wrong[f"{request['method']} {request['path']}: {status}, not {request['status']}"] += 1


def _status(connection: http.client.HTTPConnection, request: dict[str, Any]) -> int:
    body = json.dumps(request["body"]) if "body" in request else request.get("text")
    headers = {**({"Content-Type": "application/json"} if body else {}), **request.get("headers", {})}
    connection.request(request["method"], request["path"], body, headers)
    response = connection.getresponse()
    response.read()
    return response.status
