"""A log line as text that is safe to show: plain pieces with colours and weights, and nothing else.

Only SGR (colour, bold, …) survives of the escape sequences. Every other one (cursor moves, erasing, OSC titles and
links, DCS, unterminated ones too) is dropped, since a log must not move the cursor or set the title of the
terminal that shows it. A line that was repainted with carriage returns is its last non-empty state. Characters
that terminals draw with different widths or that turn the writing direction are dropped, so that columns stay
aligned (measured: U+FE0F shifts the row in tmux 3.3a, ZWJ sequences in xterm.js).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

Colour = int | tuple[int, int, int]
"""An index into the 256-colour palette, or red, green, blue."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a piece is drawn, as the program that wrote it asked."""

    foreground: Colour | None = None
    background: Colour | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


PLAIN = Look()


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters with one look."""

    text: str
    look: Look = PLAIN


_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<sgr>[0-9;:]*)m"  # SGR, the one that is kept
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|$)"  # CSI; cut off at the end of the line too
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*(?:[0-~]|$)"  # two-byte and character-set sequences
    r"|\x1b"
)
_BEGINS = "\x1b\x9b\x9d\x90\x98\x9e\x9f"
_BYTE_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
_TAB = 8


def _replacements() -> dict[int, str | None]:
    """What becomes of each odd character."""
    table: dict[int, str | None] = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd")
    table |= dict.fromkeys((0x00, 0x07, 0x08, 0x0D, 0x0E, 0x0F, 0x7F))  # no picture of their own: dropped
    table |= dict.fromkeys((0xAD, 0x061C, 0x180E, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB))
    for first, last in ((0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F)):
        table |= dict.fromkeys(range(first, last + 1))
    table |= dict.fromkeys((*range(0x1F3FB, 0x1F400), *range(0xE0000, 0xE1000)))
    table |= {0x1F1E6 + n: chr(ord("A") + n) for n in range(26)}  # flags: their two letters
    table |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
    table |= {0x09: "\t", 0x0A: " ", 0x0B: " ", 0x0C: " "}
    return table


_REPLACEMENTS = _replacements()


def last_frame(raw: bytes) -> bytes:
    """What a terminal would still show of a line with carriage returns: the last part that is not blank."""
    if b"\r" not in raw:
        return raw
    for part in reversed(raw.split(b"\r")):
        if without_escapes(part).strip():
            return part
    return b""


def lacks_its_start(raw: bytes, cut: bool) -> bool:
    """Whether what is shown of a line is without its first part; `cut`: the raw line is.

    Of a line that was repainted only the last state counts, which may still be whole.
    """
    return cut and (b"\r" not in raw or last_frame(raw) == raw[: raw.find(b"\r")])


def without_escapes(raw: bytes) -> bytes:
    """Raw text less its escape sequences; quick and rough, for telling what may be in it."""
    return _BYTE_ESCAPE.sub(b"", raw) if b"\x1b" in raw else raw


def decode(raw: bytes) -> str:
    """The last state of a raw line as text, escapes still in it; broken UTF-8 becomes U+FFFD."""
    return last_frame(raw).decode("utf-8", "replace")


def pieces(text: str, column: int = 0) -> tuple[Piece, ...]:
    """A decoded line as pieces; joined they are `plain(text)`. A look ends with its line. `column`: where it begins."""
    if _is_clean(text):
        return (Piece(text),) if text else ()
    found: list[Piece] = []
    look, position = PLAIN, 0
    for match in _ESCAPE.finditer(text):
        column = _add(found, text[position : match.start()], look, column)
        position = match.end()
        if match["sgr"] is not None:
            look = _changed(look, match["sgr"])
    _add(found, text[position:], look, column)
    return tuple(found)


def plain(line: bytes | str) -> str:
    """The characters of a line that are shown, without any look."""
    text = line if isinstance(line, str) else decode(line)
    return text if _is_clean(text) else "".join(piece.text for piece in pieces(text))


def plain_parts(parts: Iterable[str]) -> Iterator[str]:
    """The same of a decoded line that comes in parts, each cut at a `safe_end`."""
    column = 0
    for part in parts:
        shown = "".join(piece.text for piece in pieces(part, column))
        column += len(shown)
        yield shown


def safe_end(text: str) -> int:
    """Where text that goes on may be cut: before an escape sequence whose end may be still to come.

    Nor behind one that only another sequence has broken off: taken alone, it would take more with it.
    """
    end = len(text)
    while (begun := max(text.rfind(begin, 0, end) for begin in _BEGINS)) >= 0:
        alone, whole = _ESCAPE.match(text, begun, end), _ESCAPE.match(text, begun)
        if alone is None or alone.end() < end or (end < len(text) and whole is not None and whole.end() == end):
            break
        end = begun
    return end


def _is_clean(text: str) -> bool:
    return text.isprintable() if text.isascii() else not _ODD.search(text)


def _add(found: list[Piece], text: str, look: Look, column: int) -> int:
    """Append the clean form of `text`, which starts at `column`; the column after it."""
    if not _is_clean(text):
        text = text.translate(_REPLACEMENTS)
        if "\t" in text:
            text = (" " * (column % _TAB) + text).expandtabs(_TAB)[column % _TAB :]
    if text:
        found.append(Piece(text, look))
    return column + len(text)


@lru_cache(maxsize=4096)
def _changed(look: Look, parameters: str) -> Look:
    """`look` after the SGR sequence with these parameters; unknown codes change nothing."""
    codes = [part.split(":") for part in parameters.split(";")]
    while codes:
        code = codes.pop(0)
        number = int(code[0] or "0") if len(code[0]) < 4 else -1
        if number not in (38, 48):
            look = _with_code(look, number, code[1:])
            continue
        colour = _long_colour(code[1:] if len(code) > 1 else None, codes)
        if colour is not None and number == 38:
            look = replace(look, foreground=colour)
        elif colour is not None:
            look = replace(look, background=colour)
    return look


def _long_colour(own: list[str] | None, following: list[list[str]]) -> Colour | None:
    """Colour of `38;5;n`, `38;2;r;g;b` or their colon forms (`own`); takes what it uses from `following`."""
    if own is None:
        kind = following.pop(0)[0] if following else ""
        count = {"5": 1, "2": 3}.get(kind, 0)
        values = [part[0] for part in following[:count]]
        del following[:count]
    else:
        kind, count = own[0], {"5": 1, "2": 3}.get(own[0], 0)
        values = own[-count:] if len(own) > count else []  # 38:2::r:g:b has a colour space in between
    numbers = [int(value) for value in values if value.isdigit() and len(value) < 4 and int(value) < 256]
    if not count or len(numbers) != count:
        return None
    return numbers[0] if count == 1 else (numbers[0], numbers[1], numbers[2])


_FLAGS: dict[int, tuple[str, bool]] = {
    1: ("bold", True),
    2: ("dim", True),
    3: ("italic", True),
    4: ("underline", True),
    7: ("reverse", True),
    9: ("strike", True),
    21: ("underline", True),
    23: ("italic", False),
    24: ("underline", False),
    27: ("reverse", False),
    29: ("strike", False),
}


def _with_code(look: Look, code: int, details: list[str]) -> Look:
    if code == 0:
        return PLAIN
    if code == 22:
        return replace(look, bold=False, dim=False)
    if code in _FLAGS:
        name, value = _FLAGS[code]
        return replace(look, **{name: value and details[:1] != ["0"]})  # 4:0 is no underline
    base = code % 10
    colour = None if base == 9 else base + 8 * (code >= 90)
    if 30 <= code <= 37 or code == 39 or 90 <= code <= 97:
        return replace(look, foreground=colour)
    if 40 <= code <= 47 or code == 49 or 100 <= code <= 107:
        return replace(look, background=colour)
    return look
