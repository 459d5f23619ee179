"""The two or three sentences that open an answer: what the job needs, where it fits, and where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from cardmatch.engine.memory.answer import Need, PlacementEstimate
from cardmatch.engine.memory.diffusion.answer import DiffusionEstimate, DiffusionPlacement
from cardmatch.engine.memory.encode.answer import EncodeEstimate, EncodePlacement
from cardmatch.engine.memory.training.answer import TrainingEstimate, TrainingPlacement
from cardmatch.engine.memory.verdict import Verdict
from cardmatch.engine.terms.notice import NoticeCode
from cardmatch.text.language import Language
from cardmatch.text.sentences import join_sentences, say
from cardmatch.text.units import Value

MOST_NAMED = 6
"""Places that one sentence names; of more it names one fewer and says how many are left."""

_GOOD = (Verdict.COMFORTABLE, Verdict.FITS)
_NOT_GOOD = (Verdict.TIGHT, Verdict.QUEUES, Verdict.DOES_NOT_FIT)
_BY_FIGURE = frozenset({Verdict.QUEUES, Verdict.DOES_NOT_FIT})


class Subject(NamedTuple):
    """What the first sentence speaks of: a model by its name, a bare size such as `7B`, or a model without a name."""

    name: str | None
    is_size: bool = False


Judged = PlacementEstimate | TrainingPlacement | DiffusionPlacement | EncodePlacement


class Load(NamedTuple):
    """The requests that are to run at once, and how many tokens each holds on average."""

    requests: int
    mean_tokens: int


def estimate_summary(
    subject: Subject,
    need: Need,
    load: Load,
    placements: Sequence[PlacementEstimate],
    cards: Mapping[str, str],
    language: Language,
) -> str:
    """The summary of a serving estimate; *cards* gives the name of each catalogue id."""
    return join_sentences([_need(subject, need, load, language), *_judged(placements, cards, language)], language)


def training_summary(
    subject: Subject, method: str, figures: TrainingEstimate, cards: Mapping[str, str], language: Language
) -> str:
    """The summary of a training estimate; *cards* gives the name of each catalogue id."""
    need = figures.need
    params: dict[str, Value] = {
        "method": method,
        "weights_bytes": need.weights_bytes,
        "gradients_bytes": need.gradients_bytes,
        "optimizer_bytes": need.optimizer_bytes,
        "micro_batch": figures.micro_batch,
        "sequence_tokens": figures.sequence_tokens,
    }
    if subject.name is not None:
        params["model"] = subject.name
    code = "need_unnamed_training" if subject.name is None else "need_training"
    said = say("summaries", code, params, language)
    return join_sentences([said, *_judged(figures.placements, cards, language)], language)


def diffusion_summary(
    subject: Subject, task: str, figures: DiffusionEstimate, cards: Mapping[str, str], language: Language
) -> str:
    """The summary of a diffusion estimate; *cards* gives the name of each catalogue id."""
    need = figures.need
    params: dict[str, Value] = {
        "method": task,
        "batch": figures.batch,
        "width_pixels": figures.width_pixels,
        "height_pixels": figures.height_pixels,
        "frames": figures.frames,
        "weights_bytes": need.weights_bytes,
        "activations_bytes": need.activations_bytes,
        "states_bytes": need.gradients_bytes + need.optimizer_bytes,
        "least_bytes": figures.least_bytes,
    }
    if subject.name is not None:
        params["model"] = subject.name
    what = "tuning" if task != "inference" else "images" if figures.frames == 1 else "videos"
    code = f"need_{what}" if subject.name is not None else f"need_unnamed_{what}"
    said = say("summaries", code, params, language)
    return join_sentences([said, *_judged(figures.placements, cards, language)], language)


def encode_summary(
    subject: Subject, task: str, figures: EncodeEstimate, cards: Mapping[str, str], language: Language
) -> str:
    """The summary of an encoding estimate; *cards* gives the name of each catalogue id."""
    need = figures.need
    params: dict[str, Value] = {
        "batch": figures.batch,
        "sequence_tokens": figures.sequence_tokens,
        "weights_bytes": need.weights_bytes,
        "activations_bytes": need.activations_bytes,
        "kv_cache_bytes": need.kv_cache_bytes,
    }
    if subject.name is not None:
        params["model"] = subject.name
    what = "speech" if task == "speech" else "encode"
    code = f"need_{what}" if subject.name is not None else f"need_unnamed_{what}"
    said = say("summaries", code, params, language)
    return join_sentences([said, *_judged(figures.placements, cards, language)], language)


def _judged(placements: Sequence[Judged], cards: Mapping[str, str], language: Language) -> list[str]:
    """Where it fits, and where it does not."""
    by_verdict: dict[Verdict, list[Judged]] = {}
    for placement in placements:
        by_verdict.setdefault(placement.verdict, []).append(placement)
    mixes = [[verdict for verdict in group if verdict in by_verdict] for group in (_GOOD, _NOT_GOOD)]
    return [_verdicts(verdicts, by_verdict, cards, language) for verdicts in mixes if verdicts]


def place_name(placement: Judged, cards: Mapping[str, str], language: Language) -> str:
    """What a placement is called within a sentence: `2 × H100 SXM5 80GB`, `one 3g.40gb slice of A100 PCIe 80GB`."""
    if placement.card is None:
        params: dict[str, Value] = {"count": placement.count, "memory_bytes": placement.physical_bytes}
        return say("phrases", "stated_memory" if placement.count == 1 else "stated_memory_several", params, language)
    name = cards.get(placement.card, placement.card)
    if placement.mig is not None:
        return say("phrases", "slice", {"card": name, "mig": placement.mig}, language)
    return name if placement.count == 1 else say("phrases", "cards", {"card": name, "count": placement.count}, language)


def _need(subject: Subject, need: Need, load: Load, language: Language) -> str:
    params: dict[str, Value] = {
        "requests": load.requests,
        "mean_tokens": load.mean_tokens,
        "weights_bytes": need.weights_bytes,
        "kv_cache_bytes": need.kv_cache_bytes,
        "recurrent_state_bytes": need.recurrent_state_bytes,
    }
    if subject.name is not None:
        params["model"] = subject.name
    if subject.is_size:
        return say("summaries", "need_of_a_size", params, language)
    state = "state" if not need.kv_cache_bytes else "cache_and_state"
    parts = state if need.recurrent_state_bytes else "cache"
    return say("summaries", f"need_{parts}" if subject.name is not None else f"need_unnamed_{parts}", params, language)


def _verdicts(
    verdicts: Sequence[Verdict],
    by_verdict: Mapping[Verdict, Sequence[Judged]],
    cards: Mapping[str, str],
    language: Language,
) -> str:
    """One sentence for a mix of verdicts; of a single placement it gives the figure that decides."""
    only = by_verdict[verdicts[0]]
    if len(verdicts) == 1 and len(only) == 1 and verdicts[0] in _BY_FIGURE:
        short = _host_ram_short(only[0])
        if short is not None:
            said: dict[str, Value] = {"does_not_fit": place_name(only[0], cards, language), "missing_bytes": short}
            return say("summaries", "does_not_fit_host", said, language)
        params: dict[str, Value] = {
            verdicts[0]: place_name(only[0], cards, language),
            "max_concurrency": _at_once(only[0]),
            "missing_bytes": -only[0].headroom_bytes,
        }
        return say("summaries", f"{verdicts[0]}_one", params, language)
    return verdicts_sentence(
        language, *[(verdict, *_places(verdict, by_verdict[verdict], cards, language)) for verdict in verdicts]
    )


def _host_ram_short(placement: Judged) -> int | None:
    """Bytes of system RAM that are missing where the GPU itself would have had room."""
    if isinstance(placement, PlacementEstimate):
        return -placement.headroom_bytes if placement.bound_by == "host_ram" else None
    if placement.headroom_bytes < 0:
        return None
    short = (each for each in placement.notices if each.code is NoticeCode.HOST_RAM_SHORT)
    return next((int(str(each.params["missing_bytes"])) for each in short), None)


@lru_cache(maxsize=1024)  # the same cards come out alike for many jobs
def verdicts_sentence(language: Language, *places: tuple[str, ...]) -> str:
    """The sentence for a mix of verdicts, each followed by its places."""
    params: dict[str, Value] = {verdict: names for verdict, *names in places}
    return say("summaries", "_".join(params), params, language)


def _places(verdict: Verdict, placements: Sequence[Judged], cards: Mapping[str, str], language: Language) -> list[str]:
    shown = placements if len(placements) <= MOST_NAMED else placements[: MOST_NAMED - 1]
    names = [place_name(placement, cards, language) for placement in shown]
    if verdict is Verdict.QUEUES:
        names = [_queued(name, _at_once(each), language) for name, each in zip(names, shown, strict=True)]
    if len(shown) < len(placements):
        names.append(say("phrases", "more", {"count": len(placements) - len(shown)}, language))
    return names


@lru_cache(maxsize=4096)
def _queued(place: str, most: int, language: Language) -> str:
    return say("phrases", "at_once", {"place": place, "max_concurrency": most}, language)


def _at_once(placement: Judged) -> int:
    """Requests that run at the same time; training has none."""
    return placement.max_concurrency if isinstance(placement, PlacementEstimate) else 0
