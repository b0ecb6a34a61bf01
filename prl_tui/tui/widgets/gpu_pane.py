"""The watch screen's GPUs: the run's own or all of the box, with their ranks, and the details of one below them.

Rows that have no room are counted in the last line, and arrows go through them; what is left of the room below tells
about the GPU under the cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.content import Content

from prl_tui.i18n import nt, t
from prl_tui.runs.seats import Seats, places
from prl_tui.tui.cells import safe
from prl_tui.tui.widgets import gpu_cells as cells
from prl_tui.tui.widgets import gpu_details
from prl_tui.tui.widgets.gpu_table import GpuTable, _key, _Row, _spaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual import events

    from prl_tui.machine.gpu_feed import Reading
    from prl_tui.machine.gpus import Gpu
    from prl_tui.runs.seats import Place

FEW, MANY = 7, 10
"""Rows above which the pane takes more of a screen that has it."""
LEAST_DETAILS = 3
"""Lines below which details would only look like a stray row."""


class GpuPane(GpuTable, inherit_bindings=False):
    """GPUs of a run: `b` shows the whole box and back, up and down go from GPU to GPU."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "box", t("whole box"), show=False, tooltip=t("All GPUs of this box, or only those of the run")),
        Binding("up,k", "move_cursor(-1)", t("up"), show=False),
        Binding("down,j", "move_cursor(1)", t("down"), show=False),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  (Textual's name)
        super().__init__(cells.WATCH, id=id, classes=classes)
        self.can_focus = True
        self._places: tuple[Place, ...] = ()
        self._seats = Seats()
        self._placed_by: tuple[int, int, int] | None = None
        self._whole_box = False
        self._said = ""
        self._entitled: tuple[int, int] | None = None

    # --- what the screen says -------------------------------------------------------------------------------------

    def show(self, reading: Reading) -> None:
        """Draw the feed's reading, and say beside the title what is wrong with it while rows are shown."""
        super().show(reading)
        snapshot = reading.snapshot
        said = f"! {reading.problem}" if snapshot is not None and snapshot.gpus and reading.problem else ""
        if said != self._said:  # a border's text is drawn anew whenever it is set
            self._said, self.border_subtitle = said, Content(safe(said)) if said else None
        known = len(snapshot.gpus) if snapshot is not None else 0, len(self._rows())
        if known != self._entitled:
            self._entitled = known
            self._entitle()

    def follow(self, seats: Seats, ranks: int, settings: object) -> None:
        """What the run's feed knows: the living ranks, how many there are, and `run.json`'s values to fall back on."""
        snapshot = self._reading.snapshot if self._reading else None
        seen = id(snapshot), id(seats), ranks  # nothing else moves a rank
        if snapshot is None or seen == self._placed_by or not (ranks or seats.ranks):
            return
        self._placed_by = seen
        known = settings if isinstance(settings, dict) else {}
        placed = places(seats, snapshot, range(ranks), known, self._places)
        if (placed, seats) != (self._places, self._seats):
            self._places, self._seats = placed, seats
            self._divide()
        self._warn_of_strangers()

    def action_box(self) -> None:
        """All GPUs of this box, or only the run's."""
        self._whole_box = not self._whole_box
        self._divide()

    def _divide(self) -> None:
        ranks: dict[tuple[int, int | None], list[int]] = {}
        for place in self._places:
            ranks.setdefault(place.spot, []).append(place.rank)
        self.set_ranks(ranks, only=not self._whole_box)
        self._cursor = min(self._cursor, max(0, len(self._gpus()) - 1))
        self._entitle()

    def _entitle(self) -> None:
        all_of_them = len(self._reading.snapshot.gpus) if self._reading and self._reading.snapshot else 0
        shown = len(self._gpus())
        if not all_of_them or not self._places:
            title = t("GPUs")
        elif shown < all_of_them:
            title = t("GPUs: this run's {n} of {all} (1 b all)", n=shown, all=all_of_them)
        elif self._whole_box and len({index for (index, _) in self._ranks}) < all_of_them:
            title = t("GPUs: all {all} of the box (1 b this run's)", all=all_of_them)
        else:
            title = t("GPUs")
        if self.border_title != title:
            self.border_title = title
        rows = len(self._rows())
        self.screen.set_class(rows > FEW, "-many-gpus")
        self.screen.set_class(rows > MANY, "-crowd-of-gpus")

    def _warn_of_strangers(self) -> None:
        notes = self._strangers()
        if notes != self._notes:
            self.set_notes(notes)

    def _strangers(self) -> dict[int, str]:
        """Who else is on the run's GPUs, where the driver's numbers mean processes of this place."""
        snapshot = self._reading.snapshot if self._reading else None
        if snapshot is None or not self._seats.pids:
            return {}
        seen = {place.spot[0] for place in self._places if place.witness == "driver"}
        found = {}
        for gpu in snapshot.gpus:
            others = [one for one in gpu.processes or () if one.visible and one.pid not in self._seats.pids]
            if gpu.index in seen and others:
                who = cells.users(others, snapshot.time).removeprefix("! ")
                found[gpu.index] = t("! shared: {who}", who=who)
        return found

    # --- drawing --------------------------------------------------------------------------------------------------

    def _lines(self, shape: cells.Layout) -> Iterable[list[Segment]]:
        rows, room = self._rows(), self.content_size.height - 1
        lines = list(super()._lines(shape))
        if len(lines) > room > 1:
            first = self._first_of(rows, room - 1)
            lines = [*lines[first : first + room - 1], self._more(rows, first, room - 1)]
        left = room - len(lines)
        yield from lines
        if left > LEAST_DETAILS:
            yield []
            yield from self._details(left - 1)

    def _first_of(self, rows: Sequence[_Row], room: int) -> int:
        """The first row of a window that shows the GPU under the cursor, with its slices where they fit."""
        gpus = self._gpus()
        at = next(n for n, (gpu, _) in enumerate(rows) if gpu is gpus[min(self._cursor, len(gpus) - 1)])
        return max(0, min(at, len(rows) - room) if at + len(gpus[0].mig_instances) >= room else 0)

    def _more(self, rows: Sequence[_Row], first: int, room: int) -> list[Segment]:
        """How many rows are not shown, and whether something is wrong among them."""
        hidden = [*rows[:first], *rows[first + room :]]
        wrong = [str(gpu.index) for gpu, found in hidden if found is None and (gpu.state != "ok" or gpu.slowed)]
        text = nt("… {n} more row: 1, then ↑ ↓", "… {n} more rows: 1, then ↑ ↓", len(hidden))
        if wrong:
            text += "  " + t("! look at GPU {which}", which=", ".join(wrong))
        return [Segment(cells.fit(text, self.content_size.width, "note"), self._style("busy" if wrong else "muted"))]

    def _details(self, most: int) -> Iterable[list[Segment]]:
        gpus = self._gpus()
        if not gpus:
            return
        gpu = gpus[min(self._cursor, len(gpus) - 1)]
        stale = ["stale"] if self._reading is not None and self._reading.stale else []
        for text, role in gpu_details.lines(self._detail(gpu))[:most]:
            style = self._style(*([] if role == "plain" else [role]), *stale)
            yield _spaced([Segment(cells.fit(text, self.content_size.width, "note"), style)], style)

    def _detail(self, gpu: Gpu) -> gpu_details.Detail:
        snapshot = self._reading.snapshot if self._reading else None
        return gpu_details.Detail(
            gpu,
            [place for place in self._places if place.spot[0] == gpu.index],
            self._seats.pids,
            list(self._history.get(_key(gpu), ())),
            snapshot.time if snapshot else 0.0,
            {seat.pid: seat.rank for seat in self._seats.ranks},
        )

    # --- what the person does -------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """A click on a row goes to its GPU."""
        place = event.get_content_offset(self)
        rows, room = self._rows(), self.content_size.height - 1
        if place is None or place.y < 1:
            return
        first = self._first_of(rows, room - 1) if len(rows) > room > 1 else 0
        at = first + place.y - 1
        if at < len(rows):
            self._cursor = self._gpus().index(rows[at][0])
            self.refresh()
