"""`lms load`: the LM Studio command line's documentation of load parameters."""

from __future__ import annotations

from cardmatch.engine.memory.arguments.found import Found
from cardmatch.engine.memory.arguments.table import Flag, Table, option
from cardmatch.engine.memory.arguments.values import integer
from cardmatch.engine.memory.arguments.weights import note_model


def _gpu(found: Found, value: str) -> None:
    """`max` is every layer, `off` none, a figure from 0 to 1 that share of them."""
    if value in {"max", "auto"}:
        return
    share = 0.0 if value == "off" else float(value)
    if not 0 <= share <= 1:
        raise ValueError(value)
    found.options["gpu_layers"] = round(share * (found.layers + 1))


EFFECTIVE = {
    "--context-length": Flag(option("context_length", integer)),
    "--parallel": Flag(option("max_parallel", integer)),
    "--gpu": Flag(_gpu),
}
TABLE = Table(
    engine="lm_studio",
    effective=EFFECTIVE,
    without_effect=frozenset(
        {"--identifier", "--ttl", "--yes", "-y", "--exact", "--host", "--port", "--verbose", "--quiet", "--help", "-h"}
    ),
    not_considered=frozenset({"--estimate-only"}),
    positional=note_model,
)


def finish(_: Found, __: dict[str, str]) -> None:
    """No options of LM Studio say something together."""
