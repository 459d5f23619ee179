"""What a sequence adds whatever its own length: an encoder over its source, and keys and values to attend to it.

The source is as long as the encoder reads: 30 seconds of audio are 1,500 positions in Whisper (arXiv 2212.04356, §2.2).
"""

from __future__ import annotations

from typing import NamedTuple

from cardmatch.engine.memory.training.job import TrainingJob
from cardmatch.engine.memory.training.mesh import Mesh
from cardmatch.engine.memory.training.shape import saved_source
from cardmatch.engine.memory.training.style import Saved
from cardmatch.engine.memory.training.workload import Checkpointing


class Sourced(NamedTuple):
    """Bytes per sequence: `kept` from forward to backward, `live` beside it in the backward pass of a layer of the
    decoder, `encoder` in that of a layer of the encoder.
    """

    kept: float = 0
    live: float = 0
    encoder: float = 0


def sourced(job: TrainingJob, mesh: Mesh, *, first: bool) -> Sourced:
    """What a sequence adds on the *first* stage of *mesh*, which runs the encoder, or on a later one."""
    kept = sum(count * _kept_keys(job, saved) for count, saved in job.layers) / (mesh.tensor * mesh.pipeline)
    keys = max(saved.source for _, saved in job.layers)
    # Gradients of keys and values are as large as they are; what is recomputed is held as well.
    live = (1 if job.checkpointing is Checkpointing.NONE else 2) * keys / mesh.tensor
    encoder = job.architecture.encoder
    if encoder is None or not first:
        return Sourced(kept, live)
    tokens, saved = encoder.source_tokens, saved_source(job.architecture, job.style)
    own = tokens * (saved.whole + saved.sharded + saved.scores * tokens) / mesh.tensor
    recomputed = 0.0 if job.checkpointing is Checkpointing.NONE else own
    # All layers of the decoder attend to the encoder's output.
    output = job.recipe.compute * encoder.hidden_size * tokens / mesh.tensor
    return Sourced(
        kept + output + encoder.layers * _kept_layer(job, mesh, saved, own),
        live,
        recomputed + saved.transient * tokens / mesh.tensor,
    )


def _kept_keys(job: TrainingJob, saved: Saved) -> float:
    if job.checkpointing is Checkpointing.FULL:
        return 0.0
    whole = job.checkpointing is Checkpointing.NONE or job.behaviour.selective_keeps_all_but_scores
    return saved.source if whole else saved.source / 2


def _kept_layer(job: TrainingJob, mesh: Mesh, saved: Saved, own: float) -> float:
    """What one layer of the encoder keeps, of which *own* is everything."""
    encoder = job.architecture.encoder
    width, tokens = (encoder.hidden_size, encoder.source_tokens) if encoder else (0, 0)
    checkpoint = job.style.residual * width * tokens / mesh.tensor
    if job.checkpointing is Checkpointing.FULL:
        return checkpoint
    if job.checkpointing is Checkpointing.NONE:
        return own
    if job.behaviour.selective_keeps_all_but_scores:
        return own - saved.scores * tokens * tokens / mesh.tensor
    return checkpoint + (saved.attention + saved.outputs / 2) * tokens / mesh.tensor
