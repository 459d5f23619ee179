"""A page for each kind of problem, which its `type` leads to."""

from __future__ import annotations

from html import escape

from litestar import Response, route
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from cardmatch.http.documentation.frame import framed
from cardmatch.http.problems import STATUS, TYPE_PREFIX
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType
from cardmatch.text.sentences import forms_of, sentences


@route("/docs/problems", http_method=["GET", "HEAD"])
async def problem_index() -> Response[str]:
    """Every kind of problem, with its status."""
    rows = "".join(
        f'<tr><td>{STATUS[kind]}</td><td><a href="{TYPE_PREFIX}{kind}">{kind}</a></td>'
        f"<td>{escape(_sentence(Language.EN, 'problems', kind))}</td></tr>"
        for kind in sorted(ProblemType, key=lambda kind: (STATUS[kind], kind))
    )
    return framed("Problems", f"<table><tr><th>Status</th><th>Type</th><th></th></tr>{rows}</table>")


@route("/docs/problems/{kind:str}", http_method=["GET", "HEAD"])
async def problem_page(kind: FromPath[str]) -> Response[str]:
    """What the `type` of a problem leads to: its words in every language, and the faults that it may list."""
    if kind not in list(ProblemType):
        raise NotFoundException
    status = STATUS[ProblemType(kind)]
    body = f"<p>Status {status}</p>"
    for language in Language:
        words = f"{_sentence(language, 'problems', kind)} {_sentence(language, 'details', kind)}"
        body += f'<p lang="{language}">{escape(words)}</p>'
    if kind in {ProblemType.INVALID_REQUEST, ProblemType.BAD_PARAMETER}:
        faults = "".join(
            f"<tr><td><code>{code}</code></td><td>{escape(_sentence(Language.EN, 'faults', code))}</td></tr>"
            for code in sorted(sentences(Language.EN).faults)
        )
        body += f"<h2>What can be wrong</h2><table>{faults}</table>"
    return framed(kind, body)


PROBLEM_PAGES = [problem_index, problem_page]


def _sentence(language: Language, family: str, code: str) -> str:
    return " / ".join(dict.fromkeys(forms_of(getattr(sentences(language), family)[code])))
