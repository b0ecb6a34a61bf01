"""Values as YAML and JSON write them: forms that every reader of either takes for exactly the same value.

A text stands between double quotes with JSON's escapes, which YAML shares; what YAML's printable set leaves out, or takes
for a line end, is escaped as well. A number has a digit on both sides of its point and a sign in its exponent, since
YAML 1.1 reads `5e-7` and `.5e1` as text. An exported script has the same forms in bash (`export.bash_files`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ESCAPED = '["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]'
_PLAIN_KEY = r"[^\W\d][\w.-]*"
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML 1.1 reads as something else than a text."""


def text(value: str) -> str:
    """A text as one double-quoted scalar."""
    return f'"{re.sub(_ESCAPED, _escape, value)}"'


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    return f"\\{found}" if found in {'"', "\\"} else f"\\u{ord(found):04X}"


def number(value: str) -> str:
    """A plain decimal (`values.is_decimal`) in the form that YAML 1.1, YAML 1.2 and JSON read alike."""
    base, mark, power = value.replace("E", "e").partition("e")
    sign, base = ("-", base[1:]) if base.startswith("-") else ("", base)
    if mark and "." not in base:
        base += ".0"
    base = f"0{base}" if base.startswith(".") else base
    base = f"{base}0" if base.endswith(".") else base
    return f"{sign}{base}{mark}{power if not mark or power[:1] in {'+', '-'} else '+' + power}"


def boolean(value: bool) -> str:
    """Yes and no as both write them."""
    return "true" if value else "false"


def sequence(items: Iterable[str]) -> str:
    """Texts as a list in one line."""
    return f"[{', '.join(text(item) for item in items)}]"


def constant(value: object) -> str:
    """A value that is given outright, as JSON knows it; mappings and lists stand in one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return boolean(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{text(str(name))}: {constant(item)}' for name, item in value.items())}}}"
    if isinstance(value, (int, float)):
        return number(repr(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(constant(item) for item in value)}]"
    return text(str(value))


def key(name: str) -> str:
    """A mapping's key: bare where every reader takes it for a text, else quoted."""
    return name if re.fullmatch(_PLAIN_KEY, name) and name.lower() not in _WORDS else text(name)
