"""The part of the configure screen that looks at the box: its GPUs, what stands against a launch here, the GPUs ticked."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widgets import Static

from prl_tui.tui.screens import configure_words
from prl_tui.tui.screens.place import Place
from prl_tui.tui.session import Session

if TYPE_CHECKING:
    from prl_tui.tui.widgets.gpu_table import GpuTable

LOOK_AFTER = 0.15
"""Seconds from the whole form to the first look at the box: its imports would keep the first keys waiting."""


class BoxPlace(Place):
    """A place with a `GpuTable` in `#gpus` and its one line in `#gpu-line`; `update` draws the session."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._said: dict[str, Content] = {}
        self._looked: object = None  # what the facts are whole for

    def update(self) -> None:
        """Draw the session as it is now."""
        raise NotImplementedError

    @property
    def still_looking(self) -> bool:
        """More may stand against a launch here than is known yet."""
        return self._looked is None or self._looked != self.prl.box.subject(self.session.config)

    def say(self, where: str, words: Content) -> None:
        """Put words on a line; the same ones again cost no layout."""
        if self._said.get(where) != words:
            self._said[where] = words
            self.query_one(where, Static).update(words)

    def look_on(self) -> None:
        """Look at the box again and again, ten times as often until all of it is known."""
        self.look_at_gpus()
        self.set_timer(0.1 if self._looked is None else 1.0, self.look_on)

    def look_at_gpus(self) -> None:
        """Draw what the box's GPUs are doing; the verdict on this box follows."""
        from prl_tui.machine.gpus import GpuSnapshot

        reading = self.prl.gpu_reading()
        snapshot = reading.snapshot
        if snapshot is None and reading.fault is not None:
            snapshot = GpuSnapshot(0.0, fault=reading.fault)  # the driver gives no answer: it counts as no GPU
        box, config, before = self.prl.box, self.session.config, self._looked
        self._looked = box.subject(config) if snapshot is not None and box.known(config) else None
        facts = box.facts(config, snapshot) if snapshot is not None else None
        cast("GpuTable", self.query_one("#gpus")).show(reading)
        self.say("#gpu-line", configure_words.gpu_line(reading))
        if facts is not None and (facts != self.session.facts or self._looked != before):
            self.session.facts = facts
            self.update()
        elif self.session.probe is not None and self.session.probe.running:
            self.update()
        self._mark_gpus()

    def _mark_gpus(self) -> None:
        """Tick the GPUs that the ranks would see."""
        wanted = configure_words.wanted_gpus(self.session)
        if wanted is not None:
            cast("GpuTable", self.query_one("#gpus")).select(wanted)

    def on_gpu_table_selection_changed(self, event: GpuTable.SelectionChanged) -> None:
        """GPUs ticked: the list of them. None at all is no choice: an unset list means every GPU."""
        if not event.indices:
            self.prl.tell(configure_words.one_stays(self.session))
            self._mark_gpus()
            return
        self.session.set_text("cuda_visible_devices", ",".join(map(str, event.indices)))
        self.session.finish_typing()
        self.update()
