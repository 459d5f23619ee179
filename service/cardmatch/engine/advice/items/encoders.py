"""The public call of POST /recommend for embeddings, reranking and speech: which card, in what batches, how dear."""

from __future__ import annotations

import datetime as dt
from functools import partial

import msgspec

from cardmatch.engine.advice.answer import Recommended
from cardmatch.engine.advice.items.answer import answered, objective_of, on_sale
from cardmatch.engine.advice.items.bench import Bench
from cardmatch.engine.advice.items.encoder_trade import encoder_trade
from cardmatch.engine.advice.items.encoder_trials import FORMATS, Encoding, trials
from cardmatch.engine.advice.items.load import RECORDINGS, TEXTS, items_demanded
from cardmatch.engine.advice.items.search import Copies
from cardmatch.engine.advice.presets import Presets
from cardmatch.engine.advice.question import Load, Wanted
from cardmatch.engine.advice.recommend import Shelf, Subject
from cardmatch.engine.memory.diffusion.calibration import DiffusionCalibration
from cardmatch.engine.memory.encode.estimate import notices_of, process
from cardmatch.engine.memory.encode.job import EncodeJob, settle
from cardmatch.engine.memory.encode.workload import Encode, EncodeTask
from cardmatch.engine.memory.reason import check_reason
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.terms.fault import FaultCode, refusal
from cardmatch.engine.terms.notice import Assumption, Question, QuestionCode

_ENGINE = "transformers"
_BATCH = "/workload/batch"


def recommend_encoder(
    subject: Subject,
    workload: Encode,
    wanted: Wanted,
    shelf: Shelf,
    calibration: DiffusionCalibration,
    speed: SpeedCalibration,
    presets: Presets,
    *,
    priced_on: dt.date,
) -> Recommended:
    """The cards for *workload*, best first. Raises Invalid with pointers into the request."""
    speech = workload.task is EncodeTask.SPEECH
    demand, assumed = items_demanded(wanted, RECORDINGS if speech else TEXTS, presets)
    longest = _with_length(workload, wanted.load)
    job = settle(longest, subject.architecture, subject.checkpoint)
    context = round(calibration.context_bytes.value)
    needed = process(job, job.batch, job.tokens, context).high_bytes
    check_reason(needed, "sequence_tokens" if workload.batch is None else "batch")
    _check(wanted)
    demand = demand._replace(prompt_tokens=_mean(job, wanted.load))
    objective, ranked = objective_of(wanted, demand)
    sale = on_sale(wanted, shelf, presets, priced_on)
    encoding = Encoding(subject, longest, job, context, demand, wanted, presets, speed, {}, {})
    return answered(
        Bench(
            copies=Copies(demand, wanted, objective, presets, _ENGINE, lambda _: None, partial(trials, encoding)),
            trade=encoder_trade(encoding),
            named=subject.named,
            shelf=shelf,
            market=sale.market,
            ledger=sale.ledger,
            assumptions=(*_assumptions(job, longest, workload), *assumed, *ranked),
            ask_next=_ask_next(longest, stated=demand.stated),
            notices=notices_of(job),
        )
    )


def _check(wanted: Wanted) -> None:
    """Formats are those that servers of encoders load; nothing keeps a cache from text to text. Raises Invalid."""
    for index, name in enumerate(wanted.allow.weights or ()):
        if name not in FORMATS:
            raise refusal(FaultCode.WRONG_VALUE, f"/allow/weights/{index}", value=name, known=list(FORMATS))
    if wanted.allow.kv_cache is not None:
        raise refusal(FaultCode.CONFLICTS_WITH, "/allow/kv_cache", field="workload")


def _with_length(workload: Encode, load: Load | None) -> Encode:
    """*workload* whose longest text is the load's mean one, where it names none. Raises Invalid where it is shorter."""
    mean = load.prompt_tokens if load else None
    if mean is None:
        return workload
    longest = workload.sequence_tokens
    if longest is None:
        return msgspec.structs.replace(workload, sequence_tokens=mean)
    if mean > longest:
        field = "/workload/sequence_tokens"
        raise refusal(FaultCode.ABOVE_OTHER_FIELD, "/load/prompt_tokens", field=field, maximum=longest)
    return workload


def _mean(job: EncodeJob, load: Load | None) -> int:
    return (load.prompt_tokens if load else None) or max(job.tokens, 1)


def _assumptions(job: EncodeJob, longest: Encode, workload: Encode) -> tuple[Assumption, ...]:
    """Defaults that were filled in; the batch is the search's to choose, and each option says it."""
    found = [each for each in job.assumptions if each.pointer != _BATCH]
    if workload.sequence_tokens is None and longest.sequence_tokens is not None:
        found.append(Assumption(pointer="/workload/sequence_tokens", value=longest.sequence_tokens))
    return tuple(found)


def _ask_next(workload: Encode, *, stated: bool) -> Question | None:
    """How many, else how long each is."""
    speech = workload.task is EncodeTask.SPEECH
    missing = (
        (QuestionCode.ITEMS, "/job/items", not stated),
        (QuestionCode.AUDIO_SECONDS, "/workload/audio_seconds", speech and workload.audio_seconds is None),
        (QuestionCode.TEXT_TOKENS, "/workload/sequence_tokens", not speech and workload.sequence_tokens is None),
    )
    return next((Question(code=code, pointer=pointer) for code, pointer, absent in missing if absent), None)
