"""The verdict: arithmetic, findings and their ways out. A way out is applied by enter or a click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from prl_tui.core import words
from prl_tui.core.findings import ORDER, Finding, Fix
from prl_tui.i18n import nt, t
from prl_tui.lists import listed
from prl_tui.tui.cells import fit, wrap
from prl_tui.tui.session import Verdict
from prl_tui.tui.widgets.rows import Piece, Rows

LOW = 6
"""Rows of a pane below which only the first finding is shown."""
ROLE = {"error": "error", "warning": "warning", "note": "muted"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the verdict."""

    text: str
    role: str = ""
    fix: Fix | None = None
    key: str = ""
    """The key that applies it."""


class VerdictView(Rows):
    """Always visible while a field is edited."""

    HELP = "verdict"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "page(1)", show=False)]

    @dataclass
    class Applied(Message):
        """A person chose a fix."""

        fix: Fix

    def __init__(self, **keywords: str | None) -> None:
        super().__init__(**keywords)
        self._verdict: Verdict | None = None
        self._waiting = ""
        self._taken = 0
        """Rows of what is still being asked."""
        self._lines: list[Line] = []
        self._hidden = ""

    def on_mount(self) -> None:
        """The frame's title."""
        self.border_title = t("Verdict")

    def show(self, verdict: Verdict, waiting: str = "") -> None:
        """Draw a verdict; `waiting`: what is still being asked."""
        self._verdict, self._waiting = verdict, waiting
        self.rows_changed()

    def rows_changed(self) -> None:
        """The lines depend on the width; the cursor stays on its way out, whatever row that one has now."""
        before = self._lines[self.cursor] if self.cursor < len(self._lines) else None
        if self._verdict is not None:
            width = max(20, self.room)
            waiting = [Line(one, "accent") for one in wrap(self._waiting, width) if self._waiting]
            self._taken = len(waiting)
            head, *rest = lines(self._verdict, width, max(1, self.size.height - self._taken))
            self._lines = [head, *waiting, *rest]
        if not self.has_focus:
            self.cursor = self._first()
        elif before is not None and before.fix is not None:
            same = (y for y, line in enumerate(self._lines) if line.fix == before.fix)
            self.cursor = next(same, self._first())
        super().rows_changed()
        self._say_hidden()

    def _first(self) -> int:
        """The row of the first way out that is in sight from the top, else the top itself."""
        return next((y for y, line in enumerate(self._lines[: self.size.height]) if line.fix is not None), 0)

    def _say_hidden(self) -> None:
        """On the frame: what there is no room for and the key that leads to it; with the keys, what they do here."""
        height, width = self.size.height, max(20, self.room)
        room = max(1, height - self._taken)
        hidden = hidden_words(self._verdict, width, room) if self._verdict is not None else ""
        below = self.count() - height - self.scroll_offset.y if height else 0
        words = f"d  {hidden}" if hidden else ""
        if below > 0 and not words:
            words = f"{'↓' if self.has_focus else 'd'}  {nt('{n} more line', '{n} more lines', below)}"
        if self.has_focus:
            words = self._with_keys(words, width)
        if self._hidden != words:
            self._hidden, self.border_subtitle = words, Content(words)

    def _with_keys(self, words: str, width: int) -> str:
        """The keys behind the words, as many as there is room for; the way back before all others."""
        applies = [t("enter  apply")] if any(line.fix is not None for line in self._lines) else []
        parts = [one for one in (words, *applies, t("esc  back")) if one]
        while len(parts) > 1 and cell_len("   ".join(parts)) > width - 2:
            del parts[-2]
        return "   ".join(parts)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are hidden now."""
        super().watch_scroll_y(old_value, new_value)
        self._say_hidden()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The keys move in it from what is in sight: a click must find the rows where they were."""
        super().watch_has_focus(has_focus)
        top = self.scroll_offset.y
        if has_focus and not top <= self.cursor < top + max(1, self.size.height):
            self.put_cursor(top)
        self._say_hidden()

    def show_cursor(self) -> None:
        """While nobody moves in it, the first finding is what must be seen."""
        if self.has_focus:
            super().show_cursor()
        elif self.scroll_offset.y:
            self.scroll_to(y=0, animate=False, force=True)

    def count(self) -> int:
        """Lines."""
        return len(self._lines)

    def shows_cursor(self) -> bool:
        """Only while the verdict has the focus."""
        return self.has_focus

    def chosen(self, y: int) -> None:
        """Tell the screen which way out it is; every other row is only read."""
        fix = self._lines[y].fix
        if fix is not None:
            self.post_message(self.Applied(fix))

    def row(self, y: int, width: int) -> list[Piece]:
        """A line; a way out begins with its key."""
        line = self._lines[y]
        if line.fix is None:
            return [(fit(line.text, width), line.role)]
        return [("  ", ""), (fit(line.key, 2), "mark"), (" ", ""), (fit(line.text, max(4, width - 5)), "accent")]


def hidden_findings(verdict: Verdict, width: int, height: int) -> int:
    """How many findings a low pane has no room for."""
    found = len(verdict.report.findings) + len(verdict.here)
    if height >= LOW or not found:
        return 0
    return found - len(_in_sight(verdict, width, height))


def hidden_words(verdict: Verdict, width: int, height: int) -> str:
    """What a low pane has no room for: findings, and the ways out of all of them."""
    findings = hidden_findings(verdict, width, height)
    said = [nt("{n} more finding", "{n} more findings", findings)] if findings else []
    if height < LOW and (ways := hidden_ways(verdict, width, height)):
        said.append(nt("{n} more way out", "{n} more ways out", ways))
    return listed(said)


def hidden_ways(verdict: Verdict, width: int, height: int) -> int:
    """How many ways out a low pane has no room for."""
    shown = {line.fix.label for line in lines(verdict, width, height)[:height] if line.fix is not None}
    every = {fix.label for finding in (*verdict.report.findings, *verdict.here) for fix in finding.fixes}
    return len(every - shown)


def lines(verdict: Verdict, width: int, height: int = 40) -> list[Line]:
    """The verdict as lines of a width; a low pane gets the sentences and their first way out only."""
    report = verdict.report
    low = height < LOW
    findings = [*report.findings, *verdict.here]
    head = Line(_head(verdict), _head_role(verdict))
    sums: list[Line] = []
    for text in words.arithmetic(report)[: 1 if low else None]:
        sums += [Line(line) for line in wrap(text, width)]
    if words.length(report) and not (low and findings):
        told = [text for text in (words.length(report), words.on_the_way(report)) if text]
        rows = [" · ".join(told)] if low else [row for text in told for row in wrap(text, width)]
        sums += [Line(row, "muted") for row in rows]
    first = verdict.first_fix
    if low and findings:
        return _low(verdict, [head, *sums], width, height)
    faults = _findings(verdict, first, width)
    found = [head, *sums, *faults]
    if first is not None and first not in [line.fix for line in found[:height]]:
        return [head, *faults, *sums]  # the way out stays in sight
    return found


def _findings(verdict: Verdict, first: Fix | None, width: int) -> list[Line]:
    found: list[Line] = []
    seen: set[str] = set()
    for finding in verdict.report.findings:
        found += _finding(finding, first, seen, width)
    if verdict.here:
        found.append(Line(t("On this box:"), "muted"))
    for finding in verdict.here:
        found += _finding(finding, first, seen, width)
    return found


def _head_role(verdict: Verdict) -> str:
    if not verdict.report.ok:
        return "error"
    if verdict.looking:
        return "warning" if verdict.report.count("warning") else "good"
    return "good" if verdict.can_launch and not verdict.absent else "warning"


def _head(verdict: Verdict) -> str:
    text = words.verdict(verdict.report)
    ok = text if verdict.report.count("warning") else "✓ " + t("config ok")
    if not verdict.report.ok:
        return text
    if verdict.looking:
        return f"{ok}   {t('… looking at this box')}"
    if verdict.facts is None:
        return text
    if verdict.can_launch and verdict.absent:  # no error, for it may lie where nobody looked; no promise either
        return f"{text} · {t('no {names} here', names=listed(verdict.absent))}"
    if verdict.can_launch:
        return f"{text} · {t('can launch here')}"
    errors = sum(finding.severity == "error" for finding in verdict.here)
    here = nt("✗ {n} error on this box", "✗ {n} errors on this box", errors)
    return f"{ok}   {here}"


def _finding(finding: Finding, first: Fix | None, seen: set[str], width: int) -> list[Line]:
    found = _told(finding, width)
    if finding.why and finding.why not in seen:
        seen.add(finding.why)
        found += [Line(f"  {text}", "muted") for text in wrap(finding.why, width - 2)]
    for fix in finding.fixes:
        if fix.label not in seen:
            seen.add(fix.label)
            found.append(Line(fix.label, "accent", fix, "f" if fix == first else "⏎"))
    return found


def _low(verdict: Verdict, found: list[Line], width: int, height: int) -> list[Line]:
    """The count with the arithmetic, then the findings that there is room for, one of them with its way out."""
    head = Line(fit(f"{found[0].text}   {found[1].text if len(found) > 1 else ''}", width).rstrip(), found[0].role)
    return [
        head,
        *(line for told in _in_sight(verdict, width, height) for line in told),
    ]


def _in_sight(verdict: Verdict, width: int, height: int) -> list[list[Line]]:
    """The findings below the head of a low pane."""
    return _shown(verdict.report.findings, verdict.here, verdict.first_fix, max(1, height - 1), width)


def _shown(
    own: Sequence[Finding], here: Sequence[Finding], first: Fix | None, rows: int, width: int
) -> list[list[Line]]:
    """The lines of the findings that fit, the worst first; of the last one as much as fits.

    The first way out stands under the finding that it is of, which comes first among those that are as bad. Where there
    is no room for it beside worse ones of this box, it comes before them: the key changes what is in sight, and the head
    says how many errors the box has. Beside a worse one of the config itself it is not shown.
    """
    worst = sorted([*own, *here], key=lambda finding: ORDER[finding.severity])
    owner = next((finding for finding in worst if first is not None and first in finding.fixes[:1]), None)
    worst.sort(key=lambda finding: (ORDER[finding.severity], finding is not owner))
    kept = len(_told(owner, width)) + 1 if owner is not None else 0
    if kept >= rows:
        if owner is not None and owner in own and not any(ORDER[one.severity] < ORDER[owner.severity] for one in own):
            worst.sort(key=lambda finding: finding is not owner)
        kept = 0
    shown: list[list[Line]] = []
    full = False
    for finding in worst:
        out = [Line(first.label, "accent", first, "f")] if finding is owner and first is not None and rows > 1 else []
        kept = 0 if finding is owner else kept
        room = rows - kept - len(out)
        told = _told(finding, width)
        if full and finding is not owner:
            continue
        if len(told) > room:
            full = True
            if room < 1:
                continue
            told = [*told[: room - 1], Line(f"{told[room - 1].text} …", told[0].role)]
        shown.append([*told, *out])
        rows -= len(shown[-1])
    return shown


def _told(finding: Finding, width: int) -> list[Line]:
    """What a finding says, without its reason."""
    glyph = words.GLYPHS[finding.severity]
    return [
        Line(f"{glyph if n == 0 else ' '} {text}", ROLE[finding.severity])
        for n, text in enumerate(wrap(finding.message, width - 2))
    ]
