"""The first line: the places of the app, and what is being worked on."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from prl_tui.i18n import t
from prl_tui.tui.cells import fit, safe

PLACES = ("configure", "runs", "watch")
GLYPHS = ("①", "②", "③")


def place_word(name: str) -> str:
    """A place's name."""
    return {"configure": t("configure"), "runs": t("runs"), "watch": t("watch")}[name]


class TopBar(Widget):
    """Places by mouse; the keys are in the footer."""

    DEFAULT_CSS = """
    TopBar { height: 1; background: $panel; }
    """

    class Chosen(Message):
        """A place was clicked."""

        def __init__(self, place: str) -> None:
            super().__init__()
            self.place = place

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place
        self._about = ""

    def say(self, about: str) -> None:
        """What the right end says."""
        if about != self._about:
            self._about = safe(about)
            self.refresh()

    def render(self) -> Content:
        """Name, places, and what is worked on."""
        parts: list[str | tuple[str, str]] = [(" prl-tui ", "bold $text-accent")]
        used = len(" prl-tui ")
        for glyph, name in zip(GLYPHS, PLACES, strict=True):
            text = f" {glyph} {place_word(name)} "
            used += cell_len(text)
            parts.append((text, "bold reverse" if name == self._place else "$secondary"))
        width = max(0, self.size.width - used - 3)
        parts.append((f"  {fit(self._about, width, right=True)}" if self._about else "", "$secondary"))
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Go to the place under the pointer."""
        at = len(" prl-tui ")
        for glyph, name in zip(GLYPHS, PLACES, strict=True):
            end = at + cell_len(f" {glyph} {place_word(name)} ")
            if at <= event.x < end:
                self.post_message(self.Chosen(name))
            at = end
