"""How fast an encoder goes through texts, pairs or recordings: batches one after the other on one GPU."""

from __future__ import annotations

import msgspec

from cardmatch.engine.hardware.layout import Layout
from cardmatch.engine.memory.encode.job import WINDOW_SECONDS, EncodeJob
from cardmatch.engine.memory.encode.workload import EncodeTask
from cardmatch.engine.memory.inference import Inference
from cardmatch.engine.memory.settle import settle
from cardmatch.engine.models.architecture import Attention, Encoder
from cardmatch.engine.models.formats import Dtype
from cardmatch.engine.models.parameters import embedding_parameters, encoder_parameters, head_parameters
from cardmatch.engine.speed.band import UNMEASURED, SpeedBand, doubt
from cardmatch.engine.speed.calibration import SpeedCalibration
from cardmatch.engine.speed.chip import Chip
from cardmatch.engine.speed.encoding import EncodeSpeed, encode_speed
from cardmatch.engine.speed.launches import ATTENTION, FEED_FORWARD
from cardmatch.engine.speed.pace import EngineKind, Pace
from cardmatch.engine.speed.serving import Seat, seat_pace
from cardmatch.engine.speed.shape import Shape, shape_of
from cardmatch.engine.speed.step import Work, decode_work, timed
from cardmatch.engine.terms.band import Basis

WORDS_PER_MINUTE, TOKENS_PER_WORD = 150.0, 4 / 3
"""Speech at an ordinary pace, and Whisper's tokens for it (OpenAI: a token is about three quarters of a word)."""

HEARD_SHARE = 0.45
"""Of the rate of bare passes: the rest goes to features, windows that end late and second tries.

Whisper large-v2 in 16 bits with five beams on an RTX 3070 Ti, 13 minutes: 143, 112 and 63 s one window at a time by
openai/whisper, Transformers and faster-whisper, 17 s eight at a time (faster-whisper's README).
"""

WRITTEN_TOKENS = WORDS_PER_MINUTE * TOKENS_PER_WORD * WINDOW_SECONDS / 60
_ALONE = Layout()


def encoder_shape(job: EncodeJob) -> Shape:
    """The model of *job* in its formats, made once for all cards.

    Vectors come out below the output head; in a model without one every token sees all others, not the earlier ones.
    """
    served, _ = settle(Inference(), job.architecture, job.checkpoint, checked=False)
    shape = shape_of(served)
    if job.workload.task is EncodeTask.SPEECH:
        return shape
    model, sums = job.architecture, served.sums
    head = sums.tied if model.tied_embeddings else sums.last
    unused = embedding_parameters(model) if model.tied_embeddings else head_parameters(model)
    weights = shape.weights
    both = 1.0 if model.output_head else 2.0
    return shape._replace(
        multiplied=shape.multiplied - unused,
        weights=weights._replace(
            sharded=weights.sharded - head.sharded, replicated=weights.replicated - head.replicated
        ),
        attended=tuple([each._replace(flops_per_token=both * each.flops_per_token) for each in shape.attended]),
    )


def encoding_speed(
    job: EncodeJob, shape: Shape, chip: Chip, known: SpeedCalibration, *, batch: int, tokens: float
) -> EncodeSpeed:
    """Batches of *batch* items of *tokens* each on one *chip*; of speech, recordings of the job's windows each.

    No row measures encoders: what engines reach of a chip in prefill stands for it, with a band that says so.
    """
    seat = Seat(engine=EngineKind.VLLM, chip=_in_32_bits(job, chip), layout=_ALONE, slots=1)
    if job.workload.task is EncodeTask.SPEECH:
        return _speech(job, shape, seat_pace(shape, seat, known), batch)
    found = encode_speed(shape, seat, batch=batch, tokens=tokens, known=known)
    return EncodeSpeed(
        items_per_second=_unsure(found.items_per_second),
        tokens_per_second=_unsure(found.tokens_per_second),
        batch_seconds=_unsure(found.batch_seconds),
    )


def _in_32_bits(job: EncodeJob, chip: Chip) -> Chip:
    """PyTorch multiplies FP32 weights outside the tensor cores unless it is told otherwise."""
    if job.checkpoint.format != Dtype.FP32 or chip.rates.fp32_tflops is None:
        return chip
    return chip._replace(rates=msgspec.structs.replace(chip.rates, bf16_tflops=None, fp16_tflops=None))


def _unsure(band: SpeedBand) -> SpeedBand:
    """The band of what was measured for other models only."""
    return SpeedBand(
        low=min(band.low, band.expected * UNMEASURED.low_ratio),
        expected=band.expected,
        high=max(band.high, band.expected * UNMEASURED.high_ratio),
        basis=Basis.EXTRAPOLATED,
    )


def _speech(job: EncodeJob, shape: Shape, pace: Pace, windows_at_once: int) -> EncodeSpeed:
    """Windows heard at once, then written token by token for every hypothesis of the beam."""
    encoder = job.architecture.encoder
    seconds = 0.0 if encoder is None else timed(_heard(encoder, windows_at_once), pace).seconds
    written = float(windows_at_once * (job.workload.beams or 1))
    seconds += WRITTEN_TOKENS * timed(decode_work(shape, _ALONE, written, WRITTEN_TOKENS / 2), pace).seconds
    seconds /= HEARD_SHARE
    sure, rate = doubt(UNMEASURED, seen=False), windows_at_once / seconds
    return EncodeSpeed(
        items_per_second=sure.rate(rate / max(job.windows, 1)),
        tokens_per_second=sure.rate(rate * WRITTEN_TOKENS),
        batch_seconds=sure.time(seconds),
    )


def _heard(encoder: Encoder, windows: int) -> Work:
    """One pass of the encoder over *windows* of its source tokens."""
    parameters, tokens = encoder_parameters(encoder), encoder.source_tokens
    blocks = [block for block in encoder.layer.blocks if isinstance(block, Attention)]
    scores = sum(4.0 * block.query_heads * block.head_size for block in blocks)
    one = (2.0 * parameters + encoder.layers * scores * tokens) * tokens
    kernels = encoder.layers * (ATTENTION + FEED_FORWARD)
    return Work(2.0 * parameters, 0.0, one * windows, 0.0, 0.0, 0.0, kernels, float(windows))
