"""What a regular expression that a person typed means, written so that it costs less or cannot be taken for something else."""

from __future__ import annotations

import re

_SET = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_TOKEN = re.compile(rf"\\N\{{[^}}]*\}}|\\.|\{{(?:\d+|\d*,\d*)\}}|\{{|{_SET}", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s", "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9a-fA-F", "word": r"\w", "graph": "!-~", "print": " -~", "cntrl": r"\x00-\x1f\x7f",
}  # fmt: skip
"""What grep's classes are in a set, as far as ASCII goes."""
_PART = re.compile(rf"\\.|\[:(?P<name>{'|'.join(_CLASSES)}):\]|\[\^?\]?|.", re.DOTALL)
_LEAD = re.compile(
    rf"(?P<one>\\[wWdDsS]|\.|{_SET}|[^\W_]|[_\-/:=,;'\"<>@#%&!~` ])(?P<times>[+*])\??(?![+*?{{])", re.DOTALL
)
"""One character of a kind, repeated without an upper limit, at the start of an expression."""


def unknown_class(pattern: str) -> tuple[str, str] | None:
    """A class as grep has it and `re` has not, such as `[:alpha:]`, and the expression as it would work; None without one."""
    first, works, inside = "", "", False
    for match in _PART.finditer(pattern):
        part, name = match[0], match["name"]
        if name:
            first = first or part
            works += _CLASSES[name] if inside else f"[{_CLASSES[name]}]"
            continue
        works += part
        if part[0] == "[":
            inside = not (inside and part[-1] == "]")
        elif part == "]":
            inside = False
    return (first, works) if first else None


def for_regex(pattern: str) -> str:
    """The expression as `regex` means it: what only it takes for fuzzy counts and nested sets is escaped."""

    def escaped(match: re.Match[str]) -> str:
        part = match[0]
        if part == "{":
            return r"\{"
        if part[0] != "[":
            return part
        return "[" + re.sub(r"(\\.)|\[", lambda inner: inner[1] or r"\[", part[1:], flags=re.DOTALL)

    return _TOKEN.sub(escaped, pattern)


def for_finding(pattern: str) -> str:
    r"""An expression that matches somewhere in a text just where this one does, and tries fewer ways.

    `[a-z]+\d` is found where `[a-z]\d` is: how many letters stand before that one does not matter, and need not be tried
    from each of them.
    """
    lead = _lead(pattern)
    if lead is None:
        return pattern
    return ("" if lead["times"] == "*" else lead["one"]) + pattern[lead.end() :]


def for_marking(pattern: str) -> str:
    """For `regex`, an expression with the same matches that is tried once for each run of its first characters.

    A match that begins within such a run would begin with the run, or where the match before it ended.
    """
    lead, whole = _lead(pattern), for_regex(pattern)
    if lead is None or lead["times"] == "*":  # `regex` and `re` differ in what may follow an empty match
        return whole
    return rf"(?:(?<!{for_regex(lead['one'])})|\G){whole}"


def _lead(pattern: str) -> re.Match[str] | None:
    outside = _TOKEN.sub("", pattern)
    return None if "|" in outside or "(?" in outside else _LEAD.match(pattern)
