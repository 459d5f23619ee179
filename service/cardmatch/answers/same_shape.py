"""How a repository that only shares a catalogue model's shapes stores its weights: what its name says, or a guess."""

from __future__ import annotations

import msgspec

from cardmatch.catalogue.models import ModelRow
from cardmatch.catalogue.names.formats import format_in
from cardmatch.engine.models.checkpoint import Checkpoint, plain, requantised
from cardmatch.engine.models.formats import DTYPE_BITS, Dtype
from cardmatch.engine.terms.notice import Notice, NoticeCode, Params, Severity


def same_shape_checkpoint(row: ModelRow, name: str) -> tuple[Checkpoint, tuple[Notice, ...]]:
    """The checkpoint of the repository *name*, whose tensors have the shapes of *row*'s, and what to say of it.

    The name decides where it says a format. Otherwise a reference that is somebody's quantised copy (its own id says
    so) says nothing of other repositories, which are taken to be in 16 bits; one that was published in its format
    (gpt-oss, DeepSeek-V3) is what its kin are trained from and stays so. Either way the format is assumed.
    """
    reference: Params = {"model": name, "reference": row.id}
    notices = [Notice(code=NoticeCode.SAME_SHAPE, severity=Severity.INFO, params=reference)]
    stated = format_in(name)
    if stated is not None:
        checkpoint = requantised(row.architecture, row.checkpoint, stated)
    else:
        checkpoint = plain(_base(row)) if format_in(row.id) is not None else row.checkpoint
        native = checkpoint.format not in DTYPE_BITS
        params: Params = {"model": name, "format": checkpoint.format}
        severity = Severity.CAUTION if native else Severity.INFO
        notices.append(Notice(code=NoticeCode.FORMAT_ASSUMED, severity=severity, params=params))
    if checkpoint.format != row.checkpoint.format:
        checkpoint = msgspec.structs.replace(checkpoint, kv_cache=None)
    return checkpoint, tuple(notices)


def _base(row: ModelRow) -> Dtype:
    """16 bits: fp16 where the reference's unquantised parts are, else bf16."""
    return Dtype.FP16 if row.checkpoint.base is Dtype.FP16 else Dtype.BF16
