"""The names of a run's logs, one of them active; ranks for which there is no room stand in groups, odd ones by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from prl_tui.i18n import t
from prl_tui.runs.bare import BareRun
from prl_tui.runs.overview import Overview
from prl_tui.tui.cells import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

ERROR, SILENT = "!", "?"
"""Signs of a rank whose log holds what looks like an error, and of one that alone stopped to write."""
_GROUPS = (4, 8, 16, 32, 64, 128, 256, 512)
"""Ranks of a group; the first size that fits is taken."""
_ODD = 4
"""Odd ranks that are shown by themselves; of more of them, none is odd."""
_NOTE = 22
"""Cells that the note at the right end has at least."""


@dataclass(frozen=True, slots=True)
class LogTab:
    """One log that can be shown."""

    name: str
    rank: int | None
    """None: the launcher's log."""
    own: bool = False
    """Of the launcher's log only its own lines."""
    sign: str = ""
    """What is odd about it."""

    @property
    def title(self) -> str:
        """Which log it is, in words that need no row of names beside them."""
        if self.own:
            return t("the launcher's own lines")
        return self.name if self.rank is None else t("rank {rank}", rank=self.rank)

    def is_same(self, other: LogTab) -> bool:
        """Whether both are one log, whatever is odd about it by now."""
        return (self.rank, self.own) == (other.rank, other.own)


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in the row: a log, or the first one of a group."""

    text: str
    index: int
    """Of the tab."""
    group: range = range(0)
    """The tabs that the entry stands for, where it is a group."""


def tabs_of(one: Overview) -> list[LogTab]:
    """All ranks in one log, each rank's own, and what the launcher itself says; a run without ranks has one log."""
    ranks = one.view.ranks
    if not ranks:
        return [LogTab(t("the log") if isinstance(one.folder, BareRun) else t("launcher"), None)]
    bad = {mark.path for mark in one.view.errors}
    signs = {log.rank: ERROR if bad & {log.stdout, log.stderr} else "" for log in ranks}
    signs |= {rank: SILENT for rank in one.view.silent if not signs.get(rank)}
    own = [LogTab(f"r{rank}", rank, sign=sign) for rank, sign in signs.items()]
    return [LogTab(t("all ranks"), None), *own, LogTab(t("launcher"), None, own=True)]


def arranged(tabs: Sequence[LogTab], active: int, room: int) -> list[Entry]:
    """The logs in at most `room` cells, as far as groups can do that; the active one is always there by itself."""
    found = [Entry(_label(tab), n) for n, tab in enumerate(tabs)]
    for size in _GROUPS:
        if _cells(found) <= room:
            break
        found = _grouped(tabs, active, size)
    return found


def _grouped(tabs: Sequence[LogTab], active: int, size: int) -> list[Entry]:
    odd = {n for n, tab in enumerate(tabs) if tab.sign}
    alone = {active} | (odd if len(odd) <= _ODD else set())
    groups: dict[int, list[int]] = {}
    for n, tab in enumerate(tabs):
        groups.setdefault(-1 - n if tab.rank is None else tab.rank // size, []).append(n)
    found: list[Entry] = []
    for members in groups.values():
        apart = [n for n in members if n in alone]
        if len(members) > 1 and len(apart) < len(members):
            signs = {tabs[n].sign for n in members if n not in alone} - {""}
            name = f"{tabs[members[0]].name}–{tabs[members[-1]].rank}"
            first = next(n for n in members if n not in alone)
            found.append(Entry(f"{name} {min(signs)}" if signs else name, first, range(members[0], members[-1] + 1)))
        elif not apart:
            apart = members
        found += [Entry(_label(tabs[n]), n) for n in apart]
    return found


def _label(tab: LogTab) -> str:
    return f"{tab.name} {tab.sign}".rstrip()


def _cells(entries: Sequence[Entry]) -> int:
    return sum(cell_len(entry.text) + 3 for entry in entries)


class LogTabs(Widget):
    """The logs of a run by name."""

    @dataclass
    class Chosen(Message):
        """A log was clicked."""

        index: int

    def __init__(self) -> None:
        super().__init__(id="log-tabs")
        self.tabs: list[LogTab] = [LogTab(t("launcher"), None)]
        self.active = 0
        self.notes: list[str] = []
        """What the right end says: the first one that has room whole, else what there is room for of the last one."""

    @property
    def entries(self) -> list[Entry]:
        """What stands in the row now."""
        room = self.content_size.width - cell_len(f"{t('Logs')} ") - _NOTE
        return arranged(self.tabs, self.active, room)

    def beside(self, by: int) -> int:
        """The tab of the entry after (1) or before (-1) the active one, around the ends."""
        own = [entry for entry in self.entries if self.active not in entry.group]  # its own group is where it is
        indices = sorted(entry.index for entry in own)
        return indices[(indices.index(self.active) + by) % len(indices)]

    def render(self) -> Content:
        """The active one has a sign; the right end says what the view does."""
        parts: list[tuple[str, str]] = [(f"{t('Logs')} ", "bold")]
        used = cell_len(f"{t('Logs')} ")
        for entry in self.entries:
            here = entry.index == self.active
            text = f" {'▸' if here else ' '}{entry.text} "
            used += cell_len(text)
            parts.append((text, "$text-accent bold" if here else "$secondary"))
        room = max(0, self.content_size.width - used)
        note = next((one for one in self.notes if cell_len(one) <= room), (self.notes or [""])[-1])
        parts.append((fit(note, room, right=True), "$secondary"))
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Show the log under the pointer, of a group its first."""
        at = cell_len(f"{t('Logs')} ") + 1
        for entry in self.entries:
            end = at + cell_len(f"  {entry.text} ")
            if at <= event.x < end:
                self.post_message(self.Chosen(entry.index))
                return
            at = end
