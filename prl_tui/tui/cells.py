"""Text in terminal cells: cutting, padding and wrapping that hold for Chinese too, and untrusted text made safe."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

_DROPPED = dict.fromkeys([0xFE0F, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_WORD_BREAKS = ",;:/-"
"""Behind these a word that fills a line may be broken."""
_NEVER_FIRST = "，。；：、！？）」』”’》…%·,.;:!?)]}"
_NEVER_LAST = "（「『“‘《([{"


def safe(text: str) -> str:
    """One line of text that no terminal obeys: controls become a sign, joiners and direction marks go."""
    text = text.translate(_DROPPED)
    return "".join(c if c.isprintable() else " " if c in "\n\t\r" else "�" for c in text)


def safe_lines(text: str) -> str:
    """Text of several lines that no terminal obeys."""
    return "\n".join(map(safe, text.split("\n")))


def fit(text: str, width: int, right: bool = False) -> str:
    """Text in exactly `width` cells, cut with an ellipsis."""
    text = safe(text)
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""
    pad = " " * (width - length)
    return pad + text if right else text + pad


def wrap(text: str, width: int) -> list[str]:
    """Text broken into lines of at most `width` cells: at blanks and between wide characters, else inside a long word."""
    rest, lines = safe(text), []
    width = max(4, width)
    while cell_len(rest) > width:
        cut, size = 0, 0
        for cut, char in enumerate(rest):  # noqa: B007  (cut is the first character that no longer fits)
            size += cell_len(char)
            if size > width:
                break
        at = next((at for at in range(cut, cut // 3, -1) if _may_break(rest, at)), 0)
        at = at or max((rest.rfind(mark, 0, cut) + 1 for mark in _WORD_BREAKS), default=0)
        at = at if at > cut // 3 else cut
        lines.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    return [*lines, rest]


def _may_break(text: str, at: int) -> bool:
    """Whether a line may end before this character: no punctuation begins a line, no bracket that opens ends one."""
    before, after = text[at - 1], text[at]
    if " " in (before, after):
        return True
    return 2 in (cell_len(before), cell_len(after)) and after not in _NEVER_FIRST and before not in _NEVER_LAST
