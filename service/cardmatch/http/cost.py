"""POST /cost: what does it cost?"""

from __future__ import annotations

import datetime as dt

from cardmatch.answers.cost import Cost, CostRequest, cost
from cardmatch.catalogue.world import World
from cardmatch.http.operation import MIB, Operation
from cardmatch.text.language import Language


def _answer(world: World, request: CostRequest, language: Language) -> Cost:
    return cost(world, request, language, dt.datetime.now(dt.UTC).date())


OPERATIONS = (
    Operation(
        method="POST",
        path="/cost",
        name="cost",
        tag="questions",
        summary="What does it cost? A finished job, or a month of a service, with each of several options.",
        description=(
            "Hours, every line of the bill, a range and the cost per unit of work; where renting, buying, spot, a "
            "commitment and a token API break even; ranked by what the work costs, beside the rank by the hour. "
            "A throughput is measured, predicted, or the raw output of a benchmark tool."
        ),
        takes=CostRequest,
        gives=Cost,
        answer=_answer,
        example={
            "options": [
                {
                    "label": "4090",
                    "card": "rtx-4090",
                    "price": {"kind": "caller", "usd_per_hour": 0.69},
                    "throughput": {"kind": "measured", "units_per_second": 1000},
                },
                {
                    "label": "h100",
                    "card": "h100-sxm-80",
                    "price": {"kind": "caller", "usd_per_hour": 2.69},
                    "throughput": {"kind": "measured", "units_per_second": 5000},
                },
                {
                    "label": "api",
                    "price": {"kind": "token_api", "usd_per_million_input": 0.2, "usd_per_million_output": 0.6},
                },
            ],
            "work": {
                "kind": "job",
                "unit": "token",
                "units": 1_000_000_000,
                "prompt_tokens": 1000,
                "output_tokens": 300,
            },
        },
        limit_bytes=4 * MIB,
    ),
)
