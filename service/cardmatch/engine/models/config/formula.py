"""Parameter counts written as arithmetic in a data file: names, integers, + - * // and brackets, nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

Formula = Callable[[Mapping[str, int]], int]

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def compile_formula(text: str) -> Formula:
    """A function of the sizes that *text* names. Raises ValueError where it holds anything but arithmetic."""
    return _compiled(ast.parse(text.strip(), mode="eval").body)


def _compiled(node: ast.expr) -> Formula:
    match node:
        case ast.Constant(value=int(number)):
            return lambda _: number
        case ast.Name(id=name):
            return operator.itemgetter(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            combine, first, second = _OPERATORS[type(op)], _compiled(left), _compiled(right)
            return lambda sizes: combine(first(sizes), second(sizes))
    raise ValueError(f"not arithmetic: {ast.unparse(node)}")
