"""The names of a run's logs, one of them active."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from prl_tui.i18n import t
from prl_tui.runs.overview import Overview
from prl_tui.tui.cells import fit


@dataclass(frozen=True, slots=True)
class LogTab:
    """One log that can be shown."""

    name: str
    rank: int | None


def tabs_of(one: Overview) -> list[LogTab]:
    """The launcher's log and each rank's; one that holds what looks like an error has a sign."""
    bad = {mark.path for mark in one.view.errors}
    signs = {log.rank: " !" if bad & {log.stdout, log.stderr} else "" for log in one.view.ranks}
    return [LogTab(t("launcher"), None), *(LogTab(f"r{rank}{sign}", rank) for rank, sign in signs.items())]


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
        self.note = ""

    def render(self) -> Content:
        """The active one has a sign; the right end says what the view does."""
        parts: list[tuple[str, str]] = [(f"{t('Logs')} ", "bold")]
        used = cell_len(f"{t('Logs')} ")
        for n, tab in enumerate(self.tabs):
            text = f" {'▸' if n == self.active else ' '}{tab.name} "
            used += cell_len(text)
            parts.append((text, "$text-accent bold" if n == self.active else "$secondary"))
        parts.append((fit(self.note, max(0, self.content_size.width - used), right=True), "$secondary"))
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Show the log under the pointer."""
        at = cell_len(f"{t('Logs')} ") + 1
        for n, tab in enumerate(self.tabs):
            end = at + cell_len(f"  {tab.name} ")
            if at <= event.x < end:
                self.post_message(self.Chosen(n))
            at = end
