"""Why a text is no TOML, in the language in force: what tomllib (Python 3.11 to 3.14) and tomli 2 say, by their own words.

A message that is not here stays as it is.
"""

from __future__ import annotations

import ast
import re

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
