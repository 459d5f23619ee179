"""What a user of llama.cpp should know about a placement."""

from __future__ import annotations

from cardmatch.engine.memory.engines.llama_cpp.offload import offload_notice
from cardmatch.engine.memory.engines.llama_cpp.options import LlamaCpp
from cardmatch.engine.memory.engines.llama_cpp.settled import Settled
from cardmatch.engine.memory.engines.llama_cpp.spread import Spread
from cardmatch.engine.memory.job import ServingJob
from cardmatch.engine.memory.placement import Placement
from cardmatch.engine.terms.notice import Notice, NoticeCode, Severity


def notices(
    job: ServingJob,
    options: LlamaCpp,
    settled: Settled,
    spread: Spread,
    placement: Placement,
    need_bytes: int,
) -> tuple[Notice, ...]:
    """Offload and what it costs, requests longer than a slot, layers that --fit would move by itself."""
    found: list[Notice] = []
    if spread.offloaded:
        found.append(offload_notice(job, spread, placement))
    if job.context_tokens > settled.n_ctx_seq:
        found.append(
            Notice(
                code=NoticeCode.CONTEXT_BEYOND_SLOT,
                severity=Severity.CAUTION,
                params={"context_tokens": job.context_tokens, "limit_tokens": settled.n_ctx_seq},
            )
        )
    free = placement.device.memory_bytes - placement.occupied_bytes
    fits_by_itself = settled.era.fits_by_itself if options.fit is None else options.fit
    moved = need_bytes - (free - options.fit_target_bytes)
    if (
        fits_by_itself
        and options.n_gpu_layers is None
        and not spread.offloaded
        and 0 < moved <= options.fit_target_bytes
    ):
        found.append(
            Notice(
                code=NoticeCode.FIT_MOVES_LAYERS,
                severity=Severity.CAUTION,
                params={"margin_bytes": options.fit_target_bytes, "moved_bytes": moved},
            )
        )
    return tuple(found)
