"""The one door to all readers: which tool a text is said to be of, and what is wrong where it is not."""

from __future__ import annotations

from collections.abc import Callable

from cardmatch.engine.speed.reports import llama_bench, mlperf
from cardmatch.engine.speed.reports.perf import read_aiperf, read_genai_perf
from cardmatch.engine.speed.reports.report import Ambiguous, Report, Tool, Unreadable
from cardmatch.engine.speed.reports.serving import read_sglang, read_vllm
from cardmatch.engine.terms.fault import Fault, FaultCode, Invalid, refusal

Reader = Callable[[str, float | None, float | None], Report]


def _whatever_the_lengths(read: Callable[[str], Report]) -> Reader:
    return lambda text, _prompt, _output: read(text)


READERS: dict[Tool, Reader] = {
    Tool.VLLM_BENCH: _whatever_the_lengths(read_vllm),
    Tool.LLAMA_BENCH: llama_bench.read,
    Tool.SGLANG_BENCH: _whatever_the_lengths(read_sglang),
    Tool.GENAI_PERF: _whatever_the_lengths(read_genai_perf),
    Tool.AIPERF: _whatever_the_lengths(read_aiperf),
    Tool.MLPERF: _whatever_the_lengths(mlperf.read),
}


def read_report(tool: Tool, text: str, *, prompt_tokens: float | None, output_tokens: float | None) -> Report:
    """The figures of *text*, a report of *tool*; the lengths of a request choose among tests of several lengths.

    Raises Invalid at `/text`: the report of another tool (named in the suggestions), of none, or of several runs.
    """
    try:
        return READERS[tool](text, prompt_tokens, output_tokens)
    except Ambiguous as error:
        raise refusal(FaultCode.REPORT_OF_SEVERAL_RUNS, "/text", tool=tool.value, what=error.what) from None
    except Unreadable:
        others = tuple(other.value for other in READERS if other is not tool and _reads(other, text))
        code = FaultCode.REPORT_OF_OTHER_TOOL if others else FaultCode.REPORT_NOT_READ
        raise Invalid(Fault(code=code, pointer="/text", params={"tool": tool.value}, suggestions=others)) from None


def _reads(tool: Tool, text: str) -> bool:
    try:
        READERS[tool](text, None, None)
    except Unreadable:
        return False
    except Ambiguous:
        return True
    return True
