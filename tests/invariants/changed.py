"""Requests as they are posted, changed as a way to fit says, and asked again."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import msgspec

from cardmatch.answers.estimate import EstimateRequest, estimate_vram
from cardmatch.answers.misfit import fitted
from cardmatch.catalogue.world import bundled
from cardmatch.text.language import Language

WORLD = bundled()
DAY = dt.date(2026, 11, 30)


def ask(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to *body* as JSON; both pass through JSON as on the wire. Raises Invalid."""
    asked = fitted(msgspec.json.decode(msgspec.json.encode(body)), EstimateRequest)
    answer = estimate_vram(WORLD, asked, Language.EN, DAY)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer))
    return found


def applied(body: dict[str, Any], changes: list[dict[str, Any]]) -> dict[str, Any]:
    """*body* with *changes*, as a caller would edit it: a card named alone becomes an object, null leaves out."""
    changed = copy.deepcopy(body)
    changed["cards"] = [{"card": card} if isinstance(card, str) else card for card in changed["cards"]]
    for change in changes:
        *steps, last = change["pointer"].split("/")[1:]
        node: Any = changed
        for step, following in zip(steps, [*steps[1:], last], strict=True):
            node = node[int(step)] if isinstance(node, list) else node.setdefault(step, [] if following == "0" else {})
        if isinstance(node, list):
            node[int(last) :] = [change["value"], *node[int(last) + 1 :]]
        elif change["value"] is None:
            node.pop(last, None)
        else:
            node[last] = change["value"]
    return changed


def spelled_out(body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """*body* with everything that *answer* says was assumed of its workload; a list holds what is assumed of it."""
    assumed = [dict(each) for each in answer["assumptions"] if each["pointer"].startswith("/workload/")]
    for each in assumed:
        if each["pointer"] == "/workload/lora/targets":
            each["value"] = [each["value"]]
    return applied(body, assumed)


def follow_ways(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to *body*, each of whose ways was asked for: it gets the verdict and the room that it promised."""
    answer = ask(body)
    for index, placement in enumerate(answer["placements"]):
        for way in placement["ways_to_fit"]:
            again = ask(applied(body, way["changes"]))["placements"][index]
            assert (again["verdict"], again["headroom_bytes"]) == (way["verdict"], way["headroom_bytes"]), way
            assert again["verdict"] != "does_not_fit", way
            assert "{" not in way["message"], way
    return answer


def runs(body: dict[str, Any], **fields: Any) -> bool:
    """Whether *body* with *fields* of its workload set runs on the first of its cards."""
    changed = {**body, "workload": {**body["workload"], **fields}, "ways_to_fit": False}
    return bool(ask(changed)["placements"][0]["verdict"] != "does_not_fit")


def just_runs(body: dict[str, Any], field: str, largest: int, most: int, step: int = 1) -> None:
    """*largest* of *field* runs and *step* more, up to *most*, does not; where it is 0 not even one does."""
    assert largest == 0 or runs(body, **{field: largest}), (field, largest)
    more = largest + step if largest else 1
    assert more > most or not runs(body, **{field: more}), (field, largest)
