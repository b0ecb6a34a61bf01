"""Metric dicts in console text: found by their braces, read as literals, never evaluated.

Python programs print dicts with whatever their values' `repr` is: numpy and torch wrap numbers
(`np.float64(0.69)`, `tensor(1.2, device='cuda:0')`), transformers 5 quotes them, others print bare `nan` and `inf`.
What is clearly a number becomes one; everything else is kept as its text.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENING = re.compile(r"\{\s*['\"]")
_BRACE_OR_QUOTE = re.compile(r"[{}'\"]")
_LONGEST = 64 << 10  # characters of one dict
_ATTEMPTS = 16  # openings without an end before a line is given up
_NAMES: dict[str, object] = {
    "nan": float("nan"),
    "NaN": float("nan"),
    "inf": float("inf"),
    "Infinity": float("inf"),
    "true": True,
    "false": False,
    "null": None,
}


def find_dicts(text: str) -> list[dict[str, object]]:
    """Every complete dict with string keys in `text`, outermost ones, in order; unclosed ones are left out."""
    return [found for source in _sources(text) if (found := _read(source)) is not None]


def _sources(text: str) -> Iterator[str]:
    position = failures = 0
    while failures < _ATTEMPTS and (opening := _OPENING.search(text, position)):
        end = _closing(text, opening.start())
        if end is None:
            position = opening.end()
            failures += 1
        else:
            yield text[opening.start() : end]
            position = end


def _closing(text: str, start: int) -> int | None:
    """Index after the brace that closes the one at `start`; None if there is none."""
    depth, position = 0, start
    while match := _BRACE_OR_QUOTE.search(text, position, start + _LONGEST):
        position = match.end()
        sign = match.group()
        if sign in "'\"":
            after = _after_string(text, position, sign)
            if after is None:
                return None
            position = after
        else:
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return position
    return None


def _after_string(text: str, position: int, quote: str) -> int | None:
    """Index after the string that was opened before `position`; None if it never ends."""
    while (end := text.find(quote, position)) >= 0:
        backslashes = len(text[position:end]) - len(text[position:end].rstrip("\\"))
        if backslashes % 2 == 0:
            return end + 1
        position = end + 1
    return None


def _read(source: str) -> dict[str, object] | None:
    if (quick := _read_as_json(source)) is not None:
        return quick
    try:
        value = _value(_parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _read_as_json(source: str) -> dict[str, object] | None:
    """The same for most reports, in a tenth of the time; None where only Python's own rules can tell."""
    if "\\" in source or '"' in source or "[" in source:  # a list stays a text
        return None
    try:
        value = json.loads(source.replace("'", '"'))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse(source: str) -> ast.expr:
    if "\\" not in source:
        return ast.parse(source, mode="eval").body
    with warnings.catch_warnings():  # a log's invalid escapes are nothing to warn about
        warnings.simplefilter("ignore")
        return ast.parse(source, mode="eval").body


def _value(node: ast.expr) -> object:
    """The plain value that a literal stands for; its source text where it is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _NAMES.get(node.id, node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _value(node.operand)
        if isinstance(number, (int, float)):
            return -number if isinstance(node.op, ast.USub) else number
    elif isinstance(node, ast.Dict):
        return {
            str(_value(key)): _value(item) for key, item in zip(node.keys, node.values, strict=True) if key is not None
        }
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        inner = _value(node.args[0])  # np.float64(0.69), tensor(1.2, device='cuda:0')
        if isinstance(inner, (int, float)):
            return inner
    return ast.unparse(node)
