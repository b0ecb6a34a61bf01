"""The one catalogue for text that a person reads.

English sentences are the keys (gettext style). A sentence is whole and has named placeholders, so that a
translator can reorder it. Data files carry `{en, zh}` themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCALE_DIR = Path(__file__).parent / "locale"
_STEMS = {"zh": "zh_CN", "en": ""}


class _Catalogue:
    """The language in force and its sentences."""

    def __init__(self) -> None:
        self.language = "en"
        self.sentences: Mapping[str, str] = {}


_now = _Catalogue()


def language() -> str:
    """`en` or `zh`: the language in force."""
    return _now.language


def choose_language(wanted: str | None, environment: Mapping[str, str]) -> str:
    """`en` or `zh` from --lang, else PRL_TUI_LANG, else the POSIX locale variables."""
    candidates = [wanted, environment.get("PRL_TUI_LANG")]
    candidates += [environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    for candidate in candidates:
        if candidate:
            return "zh" if candidate.lower() == "zh" or candidate[:3].lower() in {"zh_", "zh-", "zh.", "zh@"} else "en"
    return "en"


def set_language(code: str) -> None:
    """Put `en` or `zh` in force; another code means English."""
    stem = _STEMS.get(code, "")
    if not stem:
        _now.language, _now.sentences = "en", {}
        return
    import gettext

    path = LOCALE_DIR / stem / "LC_MESSAGES" / "prl_tui.mo"
    _now.language, _now.sentences = code, {}
    if path.exists():
        with path.open("rb") as file:
            _now.sentences = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]


def t(sentence: str, /, **values: object) -> str:
    """The sentence in the language in force, with its placeholders filled.

    `{n:GPU|GPUs}` is a word by the number of that name; a translation into a language without such forms leaves it out.

    >>> t("{n} {n:GPU|GPUs}", n=1)
    '1 GPU'
    """
    found = (sentence and _now.sentences.get(sentence)) or sentence
    if not values:
        return found
    shown = {name: v if isinstance(v, (int, float)) else visible(str(v)) for name, v in values.items()}
    if _now.sentences:
        found = _closed_up(found, shown)
    return found.format(**(shown if "|" not in found else {name: _Counted(value) for name, value in shown.items()}))


class _Counted:
    """A value that can be followed by a word in the right number: `format(value, "step|steps")` is that word alone."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __format__(self, wanted: str) -> str:
        one, bar, many = wanted.partition("|")
        if bar:
            return one if str(self._value) == "1" else many
        return format(self._value, wanted)


def _closed_up(found: str, shown: Mapping[str, Any]) -> str:
    """A translation without the blank that stands for a thin one, where a value brings full-width punctuation there.

    So it is between two Chinese characters where the value is one of our own words: behind a path the blank shows its end.
    """
    for name, value in shown.items():
        if not isinstance(value, str) or not value:
            continue
        place, own = f"{{{name}}}", name in _OWN_WORDS
        if value[-1] in _WIDE or (own and _is_chinese(value[-1]) and _is_chinese(_beside(found, f"{place} ", 0))):
            found = found.replace(f"{place} ", place)
        if value[0] in _WIDE or (own and _is_chinese(value[0]) and _is_chinese(_beside(found, f" {place}", -1))):
            found = found.replace(f" {place}", place)
    return found


def _beside(found: str, part: str, side: int) -> str:
    """The character behind (0) or before (-1) a part of a sentence; "" where there is none."""
    before, there, behind = found.partition(part)
    return (behind[:1] if side == 0 else before[-1:]) if there else ""


def _is_chinese(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


_OWN_WORDS = frozenset({"age", "label", "time", "words"})
"""Placeholders whose values are times (`33 秒`), labels and other words of this program's own."""


_WIDE = frozenset("（），。：；！？、“”")
"""Punctuation that brings its own room."""


_SHORT = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Characters that break a line or turn the writing direction."""

ODD = {
    **{code: _SHORT.get(code, f"\\x{code:02x}") for code in (*range(0x20), *range(0x7F, 0xA0))},
    **{code: f"\\u{code:04x}" for code in _TURNING},
}
"""Code → how a character is shown that a terminal would obey."""


def visible(text: str) -> str:
    """A text from outside on one line, with control characters shown as escapes."""
    return text if text.isprintable() else text.translate(ODD)


def nt(one: str, many: str, n: int, /, **values: object) -> str:
    """`t` for a count: `one` for 1, `many` otherwise; `{n}` is the count. Chinese uses `many`'s entry."""
    return t(one if n == 1 and _now.language == "en" else many, n=n, **values)


def mark(sentence: str) -> str:
    """The sentence itself: marks it for the catalogue where it is data, and `t` is called later."""
    return sentence


def cells(text: str) -> int:
    """Terminal cells of a text of our own: wide characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def fit(text: str, width: int) -> str:
    """Text of our own in exactly `width` cells, cut or filled up with blanks."""
    text = text[:width]  # no character takes less than a cell
    while text and cells(text) > width:
        text = text[:-1]
    return pad(text, width)


def cut(text: str, width: int) -> str:
    """Text in `width` cells at most, with an ellipsis where some of it is left out."""
    return text if cells(text) <= width else fit(text, width - 1).rstrip() + "…"


def pad(text: str, width: int, right: bool = False) -> str:
    """Text of our own in `width` cells at least; `right` puts the blanks before it."""
    blanks = " " * max(0, width - cells(text))
    return blanks + text if right else text + blanks


def column(words: Sequence[str]) -> list[str]:
    """Words as a column of a list, each as wide as the widest."""
    width = max(map(cells, words), default=0)
    return [pad(word, width) for word in words]
