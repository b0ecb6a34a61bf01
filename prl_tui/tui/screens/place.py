"""What the app's places have in common: where their layout changes, and the app that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from prl_tui.tui.compositor import CarefulCompositor
from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp

WIDTHS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]
"""Columns from which a class holds."""
HEIGHTS = [(0, "-short"), (30, "-middle"), (40, "-tall")]
"""Rows from which a class holds."""
TOLD = (True,)
"""What an action gets that is not offered, and only says why."""


def told(key: str, action: str) -> Binding:
    """A key that says why its action can do nothing now; stands behind the one that does it."""
    return Binding(key, f"{action}(True)", show=False)


def is_told(parameters: tuple[object, ...]) -> bool:
    """Whether an action was asked for by the key of `told`. A 1 among the parameters is equal to True, and is no such."""
    return parameters == TOLD and parameters[0] is True


class Place(Screen[None]):
    """A place of the app."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    PARTS: ClassVar[tuple[str, ...]] = ()
    """Parts without which nothing here works; a place that lacks one is half made, or half taken down."""
    fitted: Size | None = None
    """The terminal's size that the classes stand for."""
    _frame_waits = False
    _resumed = False

    def __init__(self) -> None:
        super().__init__()
        self._compositor = CarefulCompositor()

    def fit_terminal(self) -> None:
        """Take the classes of the terminal's size now: with the first resize, the first frame would be drawn twice."""
        self.fitted = size = self.app.size
        sides = ((WIDTHS, size.width), (HEIGHTS, size.height))
        fits = {[name for start, name in breakpoints if start <= cells][-1] for breakpoints, cells in sides}
        self.remove_class(*({name for _, name in (*WIDTHS, *HEIGHTS)} - fits), update=False)
        self.add_class(*fits)  # where one goes another comes: the styles are updated once, for all of them

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """The terminal may have got another size while a dialog lay over the place."""
        if self.fitted != self.app.size:
            self.fit_terminal()
        elif not self._resumed:
            event.refresh_styles = False  # each part got its styles a moment ago, when it was made
        self._resumed = True

    def on_resize(self, event: events.Resize) -> None:
        """The start tells a size that is drawn already twice more, and each time everything would be drawn anew."""
        if event.size == self.fitted:
            event.prevent_default()
        self.fitted = event.size

    def _compositor_refresh(self) -> None:
        """While more keys wait, a frame is for a moment only: a few a second show that they are at work."""
        self._frame_waits = self.prl.frame_can_wait()
        if self._frame_waits:
            self._look_again()
        else:
            super()._compositor_refresh()

    def _on_timer_update(self) -> None:
        """A look of the screen. After a layout it forgets all that was dirty, and with it a frame that waits."""
        super()._on_timer_update()
        if self._frame_waits:
            self._look_again()

    def _look_again(self) -> None:
        """Ask for a frame in a moment."""
        # Not `_repaint_required`: at its next look the screen would forget what has become dirty meanwhile.
        self._dirty_widgets.add(self)
        self._update_timer.resume()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys come faster than a place is made or left: none of them does anything to half of it.

        What can do nothing with what is shown is not offered; its key, bound once more by `told`, says why.
        """
        if not self.whole():
            return None
        return is_told(parameters) or self.offers(action)

    def offers(self, action: str) -> bool:  # noqa: ARG002
        """Whether an action can do something with what is shown."""
        return True

    def whole(self) -> bool:
        """All parts are there."""
        return all(self.query_one_optional(part) is not None for part in self.PARTS)

    def takes_keys(self) -> bool:
        """Keys have somebody to go to; until then they wait."""
        return self.whole() and not self.prl.beside.holds_keys()

    def later(self, show: Callable[..., None], *values: object) -> None:
        """Have the app's thread show something, unless the place has been left by then; from any thread."""
        self.app.call_later(self._show_if_whole, show, values)

    def _show_if_whole(self, show: Callable[..., None], values: tuple[object, ...]) -> None:
        if self.is_attached and self.whole():
            show(*values)

    async def _dispatch_message(self, message: Message) -> None:
        """A timer or a size may come to a place that is half taken down: there is nothing to be drawn any more."""
        try:
            await super()._dispatch_message(message)
        except NoMatches:
            if self.whole():
                raise

    @property
    def prl(self) -> PrlApp:
        """The app."""
        return cast("PrlApp", self.app)

    def on_top_bar_chosen(self, event: TopBar.Chosen) -> None:
        """Another place."""
        self.prl.action_go(event.place)
