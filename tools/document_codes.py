"""Write docs/notices.md: every code that an answer or a problem may carry, with its sentence in English."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from cardmatch.engine.terms.fault import FaultCode
from cardmatch.engine.terms.notice import NoticeCode, QuestionCode
from cardmatch.text.language import Language
from cardmatch.text.problem import ProblemType
from cardmatch.text.sentences import Text, forms_of, sentences

PAGE = Path(__file__).resolve().parent.parent / "docs" / "notices.md"

OPENING = """\
# What Cardmatch says

Every notice, fault, problem and question has a code. Codes are stable and sentences are not: match on the code, show
the sentence. Each sentence exists in English, Spanish and Simplified Chinese; the field `language` chooses, else
`Accept-Language`. Words in braces are parameters; a notice carries them in `params` as well.

This page is made from the code by `make docs`.
"""

SECTIONS: tuple[tuple[str, str, str, type[StrEnum]], ...] = (
    ("Notices", "In `notices` of an answer or of one of its placements, with a severity.", "notices", NoticeCode),
    ("Questions", "In `ask_next` of an answer: the missing fact that would change it most.", "questions", QuestionCode),
    ("Problems", "The end of `type` of an `application/problem+json`, and its title.", "problems", ProblemType),
    ("Faults", "What can be wrong with a request: the `detail` of each of a problem's `errors`.", "faults", FaultCode),
)


def page() -> str:
    """The page as it should be."""
    return OPENING + "".join(_section(*section) for section in SECTIONS)


def _section(heading: str, about: str, family: str, codes: type[StrEnum]) -> str:
    said: dict[str, Text] = getattr(sentences(Language.EN), family)
    rows = "".join(f"| `{code}` | {_cell(said[code])} |\n" for code in sorted(codes))
    return f"\n## {heading}\n\n{about}\n\n| code | sentence |\n| --- | --- |\n{rows}"


def _cell(text: Text) -> str:
    """The last form, which is that of most counts, with the bars that would end a cell escaped."""
    return list(forms_of(text))[-1].replace("|or}", "}").replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
