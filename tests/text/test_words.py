"""Words filled into the structs of the engine."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cardmatch.engine.terms.fault import Fault, FaultCode
from cardmatch.engine.terms.notice import Assumption, Notice, NoticeCode, Params, Severity
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType, kind_of, mistake
from cardmatch.text.sentences import PLACEHOLDER, Text, forms_of, sentences
from cardmatch.text.units import LONGEST_TEXT
from cardmatch.text.words import all_assumed, assumed, sentence_of_notice, with_messages


def test_notices_get_their_message_and_keep_the_rest() -> None:
    """Only the message changes."""
    params: Params = {"context_tokens": 200_000, "limit_tokens": 131_072}
    notice = Notice(code=NoticeCode.CONTEXT_BEYOND_MODEL, severity=Severity.CAUTION, params=params)
    (said,) = with_messages((notice,), Language.ES)
    assert said.message.startswith("200.000 tokens superan los 131.072")
    assert (said.code, said.severity, said.params) == (notice.code, notice.severity, notice.params)


def test_what_is_remembered_of_one_notice_is_not_said_of_another() -> None:
    """Neither language nor figures are mixed up, and a figure that only looks the same is another."""

    def said(value: float, language: Language) -> str:
        params: Params = {"context_tokens": value, "limit_tokens": 131_072}
        notice = Notice(code=NoticeCode.CONTEXT_BEYOND_MODEL, severity=Severity.CAUTION, params=params)
        return with_messages((notice,), language)[0].message

    for _ in range(2):
        assert said(200_000, Language.ES).startswith("200.000")
        assert said(200_000, Language.EN).startswith("200,000")
        assert said(300_000, Language.EN).startswith("300,000")


def test_long_texts_of_callers_are_not_kept() -> None:
    """A sentence about a caller's own text is said each time: who sends long ones must not fill the memory."""
    kept = sentence_of_notice.cache_info().currsize
    for number in range(10):
        params: Params = {"model": f"{number}".ljust(LONGEST_TEXT + 1, "x"), "reference": "a"}
        notice = Notice(code=NoticeCode.TYPICAL_MODEL, severity=Severity.CAUTION, params=params)
        assert "…" in with_messages((notice,), Language.EN)[0].message
    assert sentence_of_notice.cache_info().currsize == kept


@pytest.mark.parametrize(
    ("pointer", "value", "start"),
    [
        (
            "/workload/context_tokens",
            8192,
            "No context length was given; requests were taken to hold at most 8,192 tokens.",
        ),
        ("/workload/weights", "fp8", "No format of the weights was given; they were taken to be in FP8."),
        ("/cards/2/layout/tensor", 2, "Card choice 3 gave no layout; tensor parallelism over 2 GPUs was used."),
        ("/some/field", 1234, "/some/field was not given; 1,234 was used."),
    ],
)
def test_an_assumption_is_said_by_its_pointer(pointer: str, value: str | int, start: str) -> None:
    """The sentence belongs to the field, wherever in a list it stands; a field without one gets the general one."""
    assert assumed(Assumption(pointer=pointer, value=value), Language.EN).message == start


def test_assumptions_keep_their_order() -> None:
    """Assumptions are said in the order in which they were made."""
    made = tuple(Assumption(pointer=f"/field/{name}", value=1) for name in "cab")
    assert [said.pointer for said in all_assumed(made, Language.ZH)] == ["/field/c", "/field/a", "/field/b"]


def test_a_fault_becomes_a_detail_with_its_suggestions() -> None:
    """The sentence of an ambiguous name lists what it may mean."""
    fault = Fault(
        code=FaultCode.AMBIGUOUS_CARD,
        pointer="/cards/0",
        params={"name": "a100"},
        suggestions=("a100-sxm-40", "a100-sxm-80"),
    )
    said = mistake(fault, Language.EN)
    assert said.pointer == "/cards/0"
    assert said.detail == "“a100” may mean a100-sxm-40 or a100-sxm-80; name one of them."
    assert said.suggestions == ("a100-sxm-40", "a100-sxm-80")


def test_a_problem_is_of_the_kind_of_its_faults_where_they_agree() -> None:
    """An unknown model is its own kind of problem; a mix is an invalid request."""
    unknown = Fault(code=FaultCode.UNKNOWN_MODEL, pointer="/model", params={"name": "x"})
    other = Fault(code=FaultCode.TOO_SMALL, pointer="/workload/concurrency", params={"minimum": 1})
    assert kind_of((unknown,)) is ProblemType.UNKNOWN_MODEL
    assert kind_of((unknown, other)) is ProblemType.INVALID_REQUEST
    assert kind_of((other,)) is ProblemType.INVALID_REQUEST


def _needed(text: Text) -> set[str]:
    names = {name for form in forms_of(text) for name, _ in PLACEHOLDER.findall(form)}
    return names | ({text["by"]} if isinstance(text, dict) else set())


def _calls(source: Path) -> list[tuple[str, str, set[str], bool]]:
    """Where a module makes a Notice or a Fault with a code and params that can be read off the source."""
    found = []
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            keys = _keys(_written(arguments.get("params", ast.Dict(keys=[], values=[])), function))
            if node.func.id in {"Notice", "Fault"} and "code" in arguments and keys is not None:
                code = _written(arguments["code"], function)
                names = [part.attr.lower() for part in ast.walk(code) if isinstance(part, ast.Attribute)]
                found += [(node.func.id, name, keys, "suggestions" in arguments) for name in names]
    return found


def _written(value: ast.expr, function: ast.FunctionDef) -> ast.expr:
    """*value*, or what the same function assigns to the name that it is."""
    if isinstance(value, ast.Name):
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            given = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if given and any(isinstance(target, ast.Name) and target.id == value.id for target in targets):
                return given
    return value


def _keys(params: ast.expr) -> set[str] | None:
    if not isinstance(params, ast.Dict):
        return None
    keys = {key.value for key in params.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return keys if len(keys) == len(params.keys) else None


def test_parameters_are_read_off_the_source(tmp_path: Path) -> None:
    """The check below sees codes and keys in the ways in which rooms write them."""
    source = tmp_path / "room.py"
    source.write_text(
        "def f():\n"
        "    params: Params = {'minimum': 1}\n"
        "    code = FaultCode.TOO_SMALL if x else FaultCode.TOO_FEW_ITEMS\n"
        "    raise Invalid(Fault(code=code, params=params))\n"
        "def g():\n"
        "    return Notice(code=NoticeCode.OFFLOAD, params={'offloaded_bytes': 1})\n"
    )
    assert _calls(source) == [
        ("Fault", "too_small", {"minimum"}, False),
        ("Fault", "too_few_items", {"minimum"}, False),
        ("Notice", "offload", {"offloaded_bytes"}, False),
    ]


def test_whoever_says_something_gives_its_sentence_every_figure(root: Path) -> None:
    """Each notice and fault that the code makes carries the parameters of its sentence."""
    data = sentences(Language.EN)
    holes = []
    for source in sorted((root / "service").rglob("*.py")):
        for kind, code, keys, suggests in _calls(source):
            text = (data.notices if kind == "Notice" else data.faults)[code]
            missing = _needed(text) - keys - ({"suggestions"} if suggests else set())
            if missing:
                holes.append(f"{source.relative_to(root)}: {code} lacks {sorted(missing)}")
    assert holes == []
