"""Textual's compositor, made to paint over what left the screen while something was being scrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import Compositor

if TYPE_CHECKING:
    from textual._compositor import CompositorMap


class CarefulCompositor(Compositor):
    """Whatever is not where it was at the last layout is painted over.

    After a scroll, Textual 8.2.8 lists all places anew when the next one is asked for. What left in between is no change
    for the layout that follows, and stays on the terminal: a toast over a log that follows its file stayed for good.
    """

    @property
    def full_map(self) -> CompositorMap:
        """Every widget's place; a list that was made anew tells what has changed."""
        before = self._full_map
        found = super().full_map
        if found is not before and self.size.region not in self._dirty_regions:
            places = (place.clip.intersection(place.region) for _, place in found.items() ^ before.items())
            self._dirty_regions.update(place for place in places if place)
        return found
