"""What the options of pictures and of encoders are made from: alike but for their memory, commands and measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cardmatch.engine.advice.answer import Step
from cardmatch.engine.advice.bill import Ledger
from cardmatch.engine.advice.describe import Named
from cardmatch.engine.advice.items.search import Copies
from cardmatch.engine.advice.market import Market
from cardmatch.engine.advice.recommend import Shelf
from cardmatch.engine.advice.trying import Tried
from cardmatch.engine.memory.diffusion.answer import DiffusionPerGpu
from cardmatch.engine.memory.encode.answer import EncodePerGpu
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.notice import Assumption, Notice, Question


class Held(NamedTuple):
    """The memory of one copy on its GPU, its format and all that is said of it."""

    verdict: Verdict
    bound_by: str
    diffusion: DiffusionPerGpu | None
    encoding: EncodePerGpu | None
    budget_bytes: int
    headroom_bytes: int
    host_bytes: int
    weights_bytes: int
    format: str
    at_once: int
    notices: tuple[Notice, ...]


class Trade(NamedTuple):
    """What is particular to a trade: memory of a copy, the workload to post, its command, and half an hour with it."""

    held: Callable[[Tried], Held]
    workload: Callable[[Tried], dict[str, Any]]
    command: Callable[[Tried], str]
    steps: Callable[[Tried, str], tuple[Step, ...]]


class Bench(NamedTuple):
    """Everything behind one answer."""

    copies: Copies
    trade: Trade
    named: Named
    shelf: Shelf
    market: Market
    ledger: Ledger
    assumptions: tuple[Assumption, ...]
    ask_next: Question | None
    notices: tuple[Notice, ...]
