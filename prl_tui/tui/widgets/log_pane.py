"""A window on a log of any length: only the lines in sight are read and drawn.

The log stays in its file; a `LineSource` finds its lines. Whoever owns the view calls `poll` (20 times a second,
or less where more views share the tick). Nothing here sets the screen's layout in motion: the scroll bar is always
there, sizes are set without a reflow, and drawing skips the generic style pass (measured: 60 % of its time), so
the widget must have no border or padding of its own. What a log contains is never markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from prl_tui import reasons
from prl_tui.telemetry.escapes import decode, lacks_its_start
from prl_tui.telemetry.line_index import LETTER, LINE_LIMIT
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.tui.widgets.ansi_strip import Paint, Span

if TYPE_CHECKING:
    from rich.style import Style
    from textual.app import App
    from textual.geometry import Region

    from prl_tui.telemetry.line_index import LineSource

COLUMNS = 8  # one step sideways
_Key = tuple[bytes, int, int, "Style", str, bool, bool]


def screen_is_behind(app: App[Any]) -> bool:
    """Whether output still waits for the terminal: then a tick should skip its views, or keys wait too."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return queue is not None and queue.qsize() > 0


class LogPane(ScrollView, can_focus=True):
    """Shows one log and follows its end."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--found", "log-view--current", "log-view--cut"}
    DEFAULT_CSS = """
    LogPane {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .log-view--found { background: $warning; color: $background; text-style: bold; }
        & > .log-view--current { background: $panel; }
        & > .log-view--cut { color: $text-muted; }
    }
    """

    @dataclass
    class Changed(Message):
        """What all messages of a view have."""

        view: LogPane

        @property
        def control(self) -> LogPane:
            """The view, for selectors."""
            return self.view

    @dataclass
    class FollowChanged(Changed):
        """The view began or stopped to follow the end of its log."""

        following: bool

    @dataclass
    class NewLines(Changed):
        """Lines came below while the view does not follow."""

        count: int
        """Since it stopped to follow."""

    _gutter = 0
    """Cells before each line."""
    _limit = LINE_LIMIT
    """Bytes of a line that are shown, its last ones."""

    def __init__(
        self,
        source: LineSource | None = None,
        *,
        placeholder: str = "",
        name: str | None = None,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
        classes: str | None = None,
    ) -> None:
        """`placeholder` is drawn while there is no line: what the view is waiting for."""
        super().__init__(name=name, id=id, classes=classes)
        self.placeholder = placeholder
        self.following = True
        """Whether the view stays at the end of the log."""
        self.new_lines = 0
        """Lines that came since it stopped to follow."""
        self.needle = ""
        """The text that is searched for and marked; empty without one."""
        self.current_line: int | None = None
        """The line that was last jumped to."""
        self._source = source
        self._generation = source.generation if source else 0
        self._moved = source.moved if source else 0
        self._held_at = 0
        self._settled = False
        """Whether all lines that were there when the log was shown are counted."""
        self._at_start = False
        """The first line was asked for: it stays in sight when lines come to stand above the one that was the first."""
        self._widest = 0
        self._cache: LRUCache[_Key, tuple[Strip, int]] = LRUCache(512)

    # --- what the owner calls -------------------------------------------------------------------------------

    @property
    def source(self) -> LineSource | None:
        """The log that is shown."""
        return self._source

    @property
    def lines(self) -> int:
        """How many lines the log has so far."""
        return self._source.lines if self._source else 0

    def show(self, source: LineSource | None, placeholder: str = "") -> None:
        """Show another log, from its end; the search goes on in it."""
        self._source = source
        self.placeholder = placeholder
        self._restart()

    def poll(self, budget: int = 4 << 20) -> int:
        """Take in at most `budget` new bytes of the log and draw what changed; returns how many it were."""
        source = self._source
        if source is None:
            return 0
        before = source.lines
        if isinstance(source, TailFirst):
            source.at_end = self.following
        got = source.update(budget)
        if source.generation != self._generation:
            self._restart()
        elif source.moved != self._moved:
            self._make_room(source.moved - self._moved)
        elif got:
            end_was_in_sight = self.scroll_offset.y + self.size.height >= before
            self._fit()
            if self.following:
                self._go_to_end()
            if self.following or end_was_in_sight:
                self.refresh()
        self._count_new()
        return got

    def _make_room(self, lines: int) -> None:
        """Lines have come to stand above the first one: what is in sight stays there."""
        self._moved += lines
        self._held_at += lines
        if self.current_line is not None:
            self.current_line += lines
        self._fit()
        if self.following:
            self._go_to_end()
        elif not self._at_start:
            self._place(round(self.scroll_x), round(self.scroll_y) + lines)
        self.refresh()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._go_to_end()
        self._set_following(True)
        self.refresh()

    def go_to_line(self, line: int, column: int | None = None) -> None:
        """Bring a line (from 0) into sight, mark it as the current one and stop to follow."""
        self.current_line = line
        self._at_start = False
        self._set_following(False)
        self._fit()
        x = self.scroll_x
        width = self._text_width
        if column is not None and not x <= column < x + width - COLUMNS:
            x = max(0, column - width // 2)
            self._widen(x + width)
        top = min(max(0, line - self.size.height // 3), self.max_scroll_y)
        self._place(round(x), top)
        self.refresh()

    # --- scrolling -------------------------------------------------------------------------------------------

    @property
    def allow_horizontal_scroll(self) -> bool:
        """Sideways without a scroll bar for it, which would come and go with the lines in sight."""
        return not self.disabled

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll at once: an animated log is unreadable meanwhile."""
        options["animate"] = False
        super().scroll_to(x, y, **options)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up lets go of the end, reaching it takes hold again."""
        super().watch_scroll_y(old_value, new_value)
        self._at_start = self._at_start and new_value == 0
        if new_value < old_value and new_value < self.max_scroll_y:
            self._set_following(False)
        elif new_value >= self.max_scroll_y:
            self._set_following(True)

    def on_resize(self) -> None:
        """A view that follows is still at the end."""
        self._fit()
        if self.following:
            self._go_to_end()

    def notify_style_update(self) -> None:
        """Other colours: nothing that was drawn counts any more."""
        super().notify_style_update()
        self._cache.clear()

    @property
    def _pane_width(self) -> int:
        """Cells beside the scroll bar, which Textual counts into `size`."""
        return max(0, self.size.width - self.scrollbar_size_vertical)

    @property
    def _text_width(self) -> int:
        """Cells for a line's text."""
        return max(0, self._pane_width - self._gutter)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self._held_at = self.lines
            self._settled = self._settled and self._source is not None and not self._source.catching_up
            self.new_lines = 0
            self.post_message(self.FollowChanged(self, following))

    def _count_new(self) -> None:
        if not self._settled:  # what was there before somebody looked elsewhere is not new, whenever it is counted
            self._held_at = self.lines
            self._settled = self._source is not None and not self._source.catching_up
        new = 0 if self.following else max(0, self.lines - self._held_at)
        if new != self.new_lines:
            self.new_lines = new
            self.post_message(self.NewLines(self, new))

    def _restart(self) -> None:
        """Another log, or the same one from its beginning."""
        self._generation = self._source.generation if self._source else 0
        self._moved = self._source.moved if self._source else 0
        self.current_line = None
        self.new_lines = self._held_at = self._widest = 0
        self._settled = self._at_start = False
        self._fit()
        self._go_to_end()
        self._set_following(True)
        self.refresh()

    def _fit(self) -> None:
        """Let the scroll bar know the size of the log, without a new layout of the screen."""
        size = Size(max(self._widest, self._text_width) + self._gutter, self.lines)
        self.set_reactive(Widget.virtual_size, size)
        if self.is_attached and self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = size.height

    def _widen(self, width: int) -> None:
        if width > self._widest:
            self._widest = width
            self.set_reactive(Widget.virtual_size, Size(width + self._gutter, self.virtual_size.height))

    def _go_to_end(self) -> None:
        self._place(round(self.scroll_x), self.max_scroll_y)

    def _place(self, x: int, y: int) -> None:
        self.set_scroll(x, y)
        self.set_reactive(Widget.scroll_target_x, x)
        self.set_reactive(Widget.scroll_target_y, y)
        if self.is_attached and self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = y

    # --- drawing ---------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line in sight, for the case that somebody gave the widget a border."""
        return self._strips(y, 1)[0]

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines in sight, without the generic style pass."""
        if self.styles.gutter.totals != (0, 0):
            return super().render_lines(crop)
        strips = self._strips(crop.y, crop.height)
        if crop.x or crop.width != self._pane_width:
            style = self.visual_style.rich_style
            strips = [strip.crop_extend(crop.x, crop.x + crop.width, style) for strip in strips]
        return strips

    def _strips(self, first: int, count: int) -> list[Strip]:
        x, y = self.scroll_offset
        rows = self._source.read_lines(y + first, count, self._limit) if self._source else []
        paint = Paint(self, "log-view", x, self._text_width)
        if y + first == 0 and not self.lines:
            strips = [paint.strip(self._nothing())[0]]
        else:
            strips = [
                self._framed(self._strip(raw, paint, y + first + n), y + first + n, paint) for n, raw in enumerate(rows)
            ]
        return strips + [self._blank(paint)] * (count - len(strips))

    def _framed(self, strip: Strip, line: int, paint: Paint) -> Strip:  # noqa: ARG002
        """A line's row with what stands before it; -1 for a row that goes on with a line."""
        return strip

    def _blank(self, paint: Paint) -> Strip:
        """A row without a line."""
        return self._framed(paint.strip("")[0], -1, paint)

    def _nothing(self) -> str:
        """What stands where no line is."""
        problem = self._source.problem if self._source else None
        return reasons.of_file(problem) if problem else self.placeholder

    def _strip(self, raw: bytes, paint: Paint, line: int) -> Strip:
        current, cut = line == self.current_line, self._lacks_its_start(raw, line)
        key = (raw, paint.x, paint.width, paint.style, self.needle, current, cut)
        found = self._cache.get(key)
        if found is None:
            text = decode(raw)
            found = self._cache[key] = paint.strip(text, self.spans(text), current, cut)
        strip, width = found
        self._widen(width)  # of a line drawn before too: the view may have been shown anew since
        return strip

    def _lacks_its_start(self, raw: bytes, line: int) -> bool:
        """Whether more of a line stands in the log before what is shown of it."""
        if len(raw) < self._limit or self._source is None:
            return False
        longer = self._source.read_lines(line, 1, self._limit + LETTER)
        return lacks_its_start(raw, bool(longer) and len(longer[0]) > len(raw))

    def spans(self, text: str) -> list[Span]:  # noqa: ARG002
        """Cells of a line to mark, from and to."""
        return []
