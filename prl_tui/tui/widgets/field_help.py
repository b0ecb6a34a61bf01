"""The lines under the form: what the field under the cursor is, in the room that there is."""

from __future__ import annotations

from textual.widgets import Static

from prl_tui.core.recipe import Field
from prl_tui.tui.widgets.form_words import about_field


class FieldHelp(Static):
    """Shows one field's help. `show` may be asked at every keystroke: the same field in the same room costs nothing."""

    def __init__(self, **keywords: str | None) -> None:
        super().__init__(id=keywords.get("id"))
        self._field: Field | None = None
        self._drawn: tuple[Field, int, int] | None = None

    def show(self, field: Field | None) -> None:
        """Say what a field is; without one, or before there is room, what stands there stays."""
        self._field = field
        self._draw()

    def on_resize(self) -> None:
        """The help takes the new room."""
        self._draw()

    def _draw(self) -> None:
        width, height = self.content_size
        if self._field is None or not width:
            return
        drawn = self._drawn
        # By identity: a field of another recipe may have the same key and another meaning.
        if drawn is None or drawn[0] is not self._field or drawn[1:] != (width, height):
            self._drawn = (self._field, width, height)
            self.update(about_field(self._field, width, height))
