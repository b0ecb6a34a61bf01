"""The GPUs of this box, one row each: to choose from before a launch, to look at during a run.

`show` takes the feed's reading as it comes; nothing here asks the driver. Everything that came from outside is
literal text, and no state is told by a colour alone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from prl_tui.i18n import t
from prl_tui.machine.processes import printable
from prl_tui.tui.cells import wrap
from prl_tui.tui.widgets import gpu_cells as cells
from prl_tui.tui.widgets.gpu_cells import CONFIGURE, WATCH, Cell, Column, Layout, summary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rich.style import Style
    from textual import events
    from textual.geometry import Size

    from prl_tui.machine.gpu_feed import Reading
    from prl_tui.machine.gpu_spots import Spot
    from prl_tui.machine.gpus import Gpu, MigInstance

__all__ = ["CONFIGURE", "WATCH", "GpuTable", "summary"]

_SAMPLES = 120
"""Utilisations kept per GPU for the history column."""

_Row = tuple["Gpu", "MigInstance | None"]


class GpuTable(Widget):
    """Rows of GPUs; with a `use` column, space or a click chooses them."""

    @dataclass
    class SelectionChanged(Message):
        """The person chose other GPUs."""

        table: GpuTable
        indices: tuple[int, ...]
        """Physical indices in NVML's order, ascending."""

        @property
        def control(self) -> GpuTable:
            """The table that it came from."""
            return self.table

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "gpu-table--header",
        "gpu-table--muted",
        "gpu-table--free",
        "gpu-table--busy",
        "gpu-table--lost",
        "gpu-table--bar",
        "gpu-table--history",
        "gpu-table--cursor",
        "gpu-table--stale",
    }
    DEFAULT_CSS = """
    GpuTable {
        height: auto;
        text-wrap: nowrap;
        text-overflow: clip;
        & > .gpu-table--header { color: $secondary; }
        & > .gpu-table--muted { color: $secondary; }
        & > .gpu-table--free { color: $text-success; }
        & > .gpu-table--busy { color: $text-warning; }
        & > .gpu-table--lost { color: $text-error; }
        & > .gpu-table--bar { color: $text-primary; }
        & > .gpu-table--history { color: $text-primary; }
        & > .gpu-table--stale { color: $secondary; text-style: dim; }
        & > .gpu-table--cursor { background: $boost; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_use", t("use or not"), tooltip=t("Use this GPU for the run, or not")),
        Binding("up,k", "move_cursor(-1)", t("up"), show=False),
        Binding("down,j", "move_cursor(1)", t("down"), show=False),
    ]

    def __init__(
        self,
        columns: Sequence[Column] = CONFIGURE,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  (Textual's own name)
        classes: str | None = None,
    ) -> None:
        """`columns`: CONFIGURE, WATCH, or an own choice of them."""
        super().__init__(name=name, id=id, classes=classes)
        self.columns = tuple(columns)
        self.can_focus = "use" in self.columns
        self._reading: Reading | None = None
        self._seen: object = None
        self._chosen: frozenset[int] = frozenset()
        self._ranks: Mapping[Spot, Sequence[int]] = {}
        self._only_ranked = False
        self._notes: Mapping[int, str] = {}
        self._cursor = 0
        self._history: dict[str, deque[int | None]] = {}
        self._styles: dict[tuple[str, ...], Style] = {}
        self._strips: list[Strip] = []

    def recall(self, samples: Mapping[str, Sequence[int | None]]) -> None:
        """Utilisations from before anybody looked, by UUID, the newest last; what was seen since stays behind them."""
        for key, earlier in samples.items():
            seen = self._history.get(key, ())
            self._history[key] = deque([*earlier, *seen], maxlen=_SAMPLES)
        self.refresh()

    # --- what the screen says -------------------------------------------------------------------------------------

    def show(self, reading: Reading) -> None:
        """Draw the feed's reading; call it at every tick, it only repaints what changed."""
        before = self._reading.snapshot if self._reading else None
        if reading.snapshot is not None and reading.snapshot is not before:
            self._remember(reading.snapshot.gpus)
        self._reading = reading
        self._changed()

    def set_ranks(self, ranks: Mapping[Spot, Sequence[int]], *, only: bool = False) -> None:
        """Which ranks work on which GPU or MIG slice; `only` hides the other GPUs."""
        self._ranks, self._only_ranked = dict(ranks), only
        self._changed()

    def set_notes(self, notes: Mapping[int, str]) -> None:
        """A few words per physical index for the last column; begin with `! ` what is a warning."""
        self._notes = dict(notes)
        self._changed()

    @property
    def selected(self) -> tuple[int, ...]:
        """The chosen physical indices, ascending."""
        return tuple(sorted(self._chosen))

    def select(self, indices: Collection[int]) -> None:
        """Choose GPUs from the program; posts no message."""
        self._chosen = frozenset(indices)
        self._changed()

    # --- what the person does -------------------------------------------------------------------------------------

    def action_move_cursor(self, rows: int) -> None:
        """Move between GPUs; MIG instances are passed over."""
        self._cursor = max(0, min(self._cursor + rows, len(self._gpus()) - 1))
        self.refresh()

    def action_toggle_use(self) -> None:
        """Choose the GPU under the cursor, or not."""
        gpus = self._gpus()
        if self._cursor < len(gpus):
            self._toggle(gpus[self._cursor])

    def on_click(self, event: events.Click) -> None:
        """A click on a row chooses its GPU, or not."""
        place = event.get_content_offset(self)
        rows = self._rows()
        if "use" not in self.columns or place is None or not 1 <= place.y <= len(rows):
            return
        gpu, _ = rows[place.y - 1]
        self._cursor = self._gpus().index(gpu)
        self._toggle(gpu)

    def _toggle(self, gpu: Gpu) -> None:
        if gpu.state != "ok" and gpu.index not in self._chosen:
            self.app.bell()
            return
        self._chosen = self._chosen ^ {gpu.index}
        self._changed()
        self.post_message(self.SelectionChanged(self, self.selected))

    # --- drawing --------------------------------------------------------------------------------------------------

    def render(self) -> Content:
        """The one sentence of a problem; rows are drawn line by line."""
        lines = self._told(self.content_size.width)
        return Content.assemble(("\n".join(lines), self.get_visual_style(f"gpu-table--{self._tone()}")))

    def _told(self, width: int) -> list[str]:
        """The sentence in lines; Textual's own wrapping loses the end of one without blanks, as Chinese has."""
        return wrap(printable(self._sentence() or ""), width or 80)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Styles are looked up once for all lines of one drawing."""
        if self._sentence() is None:
            kept = {tuple(strip): strip for strip in self._strips}  # one that is the same need not be filtered again
            self._strips = [kept.get(tuple(strip), strip) for strip in self._draw()]
        return super().render_lines(crop)

    def _draw(self) -> list[Strip]:
        """All lines as they are now."""
        self._styles = {}
        width = self.content_size.width
        shape = cells.layout(self.columns, width)
        return [self._strip(parts, width) for parts in (self._heading(shape), *self._lines(shape))]

    def render_line(self, y: int) -> Strip:
        """The heading or a row."""
        if self._sentence() is not None:
            return super().render_line(y)
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.content_size.width, self._style())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """One line for the heading and one per row; a sentence takes what it needs."""
        if self._sentence() is not None:
            return len(self._told(width))
        return 1 + len(self._rows())

    def _heading(self, shape: Layout) -> list[Segment]:
        style = self._style("header")
        parts = [
            Segment(cells.fit(cells.title(name, compact=shape.compact), width, name), style)
            for name, width in shape.columns
        ]
        reading = self._reading
        if reading is not None and reading.stale and reading.age is not None and shape.columns:
            name, width = shape.columns[-1]
            parts[-1] = Segment(
                cells.fit(t("! {age} old", age=cells.age(reading.age)), width, name), self._style("busy")
            )
        return _spaced(parts, style)

    def _lines(self, shape: Layout) -> Iterable[list[Segment]]:
        gpus = self._gpus()
        stale = ["stale"] if self._reading is not None and self._reading.stale else []
        for gpu, found in self._rows():
            here = found is None and self.has_focus and gpus[min(self._cursor, len(gpus) - 1)] is gpu
            base = ["cursor"] if here else []
            parts = []
            for name, width in shape.columns:
                text, role = self._cell(name, width, shape, gpu, found)
                own = [] if role == "plain" else [role]
                parts.append(Segment(cells.fit(text, width, name), self._style(*base, *own, *stale)))
            yield _spaced(parts, self._style(*base))

    def _strip(self, parts: list[Segment], width: int) -> Strip:
        return Strip(parts).adjust_cell_length(width, self._style())

    def _style(self, *roles: str) -> Style:
        """The style of some roles over the table's own; looked up once in a drawing."""
        found = self._styles.get(roles)
        if found is None:
            own = self.get_visual_style(*(f"gpu-table--{role}" for role in roles)) if roles else self.visual_style
            found = self._styles[roles] = own.rich_style
        return found

    def _cell(self, column: Column, width: int, shape: Layout, gpu: Gpu, found: MigInstance | None) -> Cell:
        now = self._reading.snapshot.time if self._reading and self._reading.snapshot else 0.0
        if column == "rank":
            spot = gpu.index, found.slot if found is not None else None
            return cells.ranks_word(self._ranks.get(spot, ()), width), "plain"
        if found is not None:
            return cells.slice_cell(column, width, gpu, found, now)
        if column == "use":
            return self._box(gpu), "plain"
        if column == "history":
            return cells.history(self._history.get(_key(gpu), ()), width), "history"
        if column == "used":
            return cells.used_by(gpu, now)
        if column == "note":
            return cells.note(gpu, self._notes.get(gpu.index, ""), width)
        return cells.gpu_cell(column, width, gpu, compact=shape.compact)

    def _box(self, gpu: Gpu) -> str:
        if gpu.index in self._chosen:
            return "[x]"
        return "[ ]" if gpu.state == "ok" else ""

    def _sentence(self) -> str | None:
        reading = self._reading
        if reading is None:
            return t("Asking the NVIDIA driver …")
        if reading.snapshot is not None and reading.snapshot.gpus:
            return None
        return reading.problem or t("Asking the NVIDIA driver since {age} …", age=cells.age(reading.waited))

    def _tone(self) -> str:
        return "busy" if self._reading is not None and self._reading.problem else "muted"

    # --- state ----------------------------------------------------------------------------------------------------

    def _gpus(self) -> list[Gpu]:
        snapshot = self._reading.snapshot if self._reading else None
        gpus = snapshot.gpus if snapshot else ()
        ranked = {index for index, _ in self._ranks} if self._only_ranked and self._ranks else None
        return [gpu for gpu in gpus if ranked is None or gpu.index in ranked]

    def _rows(self) -> list[_Row]:
        return [(gpu, found) for gpu in self._gpus() for found in (None, *gpu.mig_instances)]

    def _remember(self, gpus: Iterable[Gpu]) -> None:
        for gpu in gpus:
            self._history.setdefault(_key(gpu), deque(maxlen=_SAMPLES)).append(gpu.utilization)

    def _changed(self) -> None:
        """Repaint if anything that is drawn differs; lay out anew only if the height may."""
        reading, sentence, rows = self._reading, self._sentence(), len(self._rows())
        aged = cells.age(reading.age) if reading and reading.stale and reading.age is not None else None
        drawn = (sentence, rows, aged, self._chosen, self._only_ranked, self._ranks, self._notes)
        snapshot = reading.snapshot if reading else None
        before, self._seen = self._seen, (drawn, snapshot)
        if before == (drawn, snapshot):
            return
        known = before[0] if isinstance(before, tuple) else None
        if known == drawn and sentence is None and self._strips:
            self._refresh_changed()
        else:
            self.refresh(layout=known is None or known[:2] != drawn[:2])

    def _refresh_changed(self) -> None:
        """Repaint the lines that differ: another look may give the same numbers, and a frame costs more than this."""
        now, width = self._draw(), self.content_size.width
        if len(now) != len(self._strips):
            self.refresh()
            return
        changed = [Region(0, y, width, 1) for y, strip in enumerate(now) if strip != self._strips[y]]
        if changed:
            self.refresh(*changed)


def _key(gpu: Gpu) -> str:
    return gpu.uuid or str(gpu.index)


def _spaced(parts: Sequence[Segment], between: Style) -> list[Segment]:
    """Cells with two blanks between them."""
    gap = Segment(" " * cells.GAP, between)
    return [one for part in parts for one in (gap, part)][1:]
