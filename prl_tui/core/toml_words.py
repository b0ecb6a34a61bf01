"""Why a text is no TOML, in the language in force: what tomllib (Python 3.11 to 3.14) and tomli 2 say, by their own words.

A message that is not here stays as it is.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from prl_tui.core.values import cut
from prl_tui.i18n import mark, t

_MESSAGES = {
    r"Cannot overwrite a value": mark("this key has a value already"),
    r"Duplicate inline table key (.+)": mark("the key {name} stands twice in one table"),
    r"Cannot (?:declare|redefine namespace) (.+?)(?: twice)?": mark("the table {name} was declared or filled before"),
    r"Cannot mutate immutable namespace (.+)": mark("{name} has its value already, and takes no further keys"),
    r"Invalid statement": mark("a line is “key = value”, “[table]” or a comment"),
    r"Expected newline or end of document after a statement": mark("the line must end after its value"),
    r"Expected ('[\]]+') at the end of an? (?:table|array) declaration": mark("{name} is missing here"),
    r"Expected ('=') after a key in a key/value pair": mark("{name} is missing here"),
    r"Expected ('.*'|\".*\")": mark("{name} is missing here"),
    r"Found invalid character (.+)": mark("the character {name} cannot stand here"),
    r"Illegal character (.+)": mark("the character {name} cannot stand here"),
    r"Invalid initial character for a key part": mark("a key cannot begin like this; one in quotes may"),
    r"Unclosed array": mark("a list without its closing ]"),
    r"Unclosed inline table": mark("a table without its closing }}"),
    r"Unescaped '\\' in a string": mark("a backslash in \"…\" begins an escape; a text in '…' is taken as it stands"),
    r"Invalid hex value": mark("a backslash in \"…\" begins an escape; a text in '…' is taken as it stands"),
    r"Escaped character is not a Unicode scalar value": mark(
        "a backslash in \"…\" begins an escape; a text in '…' is taken as it stands"
    ),
    r"Unterminated string": mark("a text without its closing quotes"),
    r"Invalid date or datetime": mark("there is no such date"),
    r"Invalid value": mark("this is no value; a text needs quotes"),
    r"Exceeds the limit .* for integer string conversion.*": mark("a number has too many digits"),
}
"""A pattern of the whole message → its sentence; `{name}` is what the pattern's group holds."""


AT_END = "(at end of document)"
"""Where the parser says that a text ends too soon."""
_SEARCHED = 1 << 20
"""Letters of a text in which a line is looked for: that parses the text a few times over."""


def line_of(text: str, kind: type[Exception]) -> int | None:
    """The line at which the parser gives up with an error that has no place, counted from 1; None in a huge text.

    All that begins like the text and has that line ends so, and nothing shorter: the parser goes from left to right.
    """
    if len(text) > _SEARCHED:
        return None
    lines = text.split("\n")
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high) // 2
        if _gives_up("\n".join(lines[:middle]), kind):
            high = middle
        else:
            low = middle + 1
    return low


def _gives_up(text: str, kind: type[Exception]) -> bool:
    from prl_tui.core import catalog

    try:
        catalog.parsed(text)
    except (ValueError, RecursionError) as error:
        return isinstance(error, kind) and not re.search(
            r"\(at (?:line \d+, column \d+|end of document)\)$", str(error)
        )
    return False


def placed(path: Path, line: int | None) -> str:
    """A file, and the line in it where that is known."""
    return t("{path}, line {line}", path=path, line=line) if line is not None else str(path)


def told(message: str) -> str:
    """The parser's message, without its place, as words for a person; one that is not known as it is."""
    for pattern in _MESSAGES:
        found = re.fullmatch(pattern, message, re.DOTALL)
        if found:
            return t(_MESSAGES[pattern], name=cut(_name(found.group(1))) if found.re.groups else "")
    return message[:200]


def _name(written: str) -> str:
    """A key or a character as the parser shows it (Python's own form), as a file has it."""
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return written
    return ".".join(map(str, value)) if isinstance(value, tuple) else str(value)
