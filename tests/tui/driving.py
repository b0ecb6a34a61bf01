"""How the screen tests drive the app: waiting with a deadline, the screen as text, places of widgets."""

from __future__ import annotations

import asyncio
import time

from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.gpu_feed import Reading
from prl_tui.machine.gpus import GpuSnapshot
from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.configure import ConfigureScreen

DEADLINE = 20.0
NO_DRIVER = Reading(GpuSnapshot(0.0, fault=GpuFault("library-missing")), 0.1, False, 1.0)


class App(PrlApp):
    """The app on a box whose GPUs are known at once: their reading is a value."""

    reading = NO_DRIVER

    def gpu_reading(self):
        return self.reading


async def wait_for(pilot, predicate, what, deadline=DEADLINE):
    """Let the app work until the predicate holds; its value. Fails with `what` and the screen."""
    end = time.monotonic() + deadline
    while not (value := predicate()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline} s in vain for: {what}\n{screen(pilot.app)}")
        await asyncio.sleep(0.01)
    return value


async def configure(pilot):
    """The configure screen once it can be used."""

    def ready():
        screen_now = pilot.app.screen
        if not isinstance(screen_now, ConfigureScreen) or not screen_now._ready or screen_now.session.facts is None:
            return False
        return screen_now.form.size.height > 0  # laid out: what is mounted is drawn a moment later

    await wait_for(pilot, ready, "the configure screen")
    await pilot.pause()
    return pilot.app.screen


async def type_text(pilot, text):
    """Type characters as a person does."""
    names = {" ": "space", "/": "slash", "-": "minus", ".": "full_stop", "_": "underscore", ",": "comma"}
    await pilot.press(*(names.get(char, char) for char in text))


def lines(app):
    """The rows of the screen as they are drawn."""
    return [
        "".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips(app.screen.size)
    ]


def screen(app):
    """The screen as text."""
    return "\n".join(line.rstrip() for line in lines(app))


async def sees(pilot, text):
    """Wait until a text is drawn: what a widget knows is on the screen a moment later."""
    await wait_for(pilot, lambda: text in screen(pilot.app), f"{text!r} on the screen")


def text_of(widget):
    """What is drawn where a widget is."""
    from rich.cells import cell_len, set_cell_size

    region = widget.region
    found = []
    for line in lines(widget.app)[region.y : region.bottom]:
        left = set_cell_size(line, region.x)
        rest = line[len(left) :] if cell_len(left) == region.x else line[region.x :]
        found.append(set_cell_size(rest, region.width).rstrip())
    return "\n".join(found)


async def shows(pilot, widget, text):
    """Wait until a widget shows a text."""
    await wait_for(pilot, lambda: text in text_of(widget), f"{text!r} in {widget}")


def row_of(widget, text):
    """The row of a widget, counted from its top, in which a text is drawn."""
    row = _row_of(widget, text)
    assert row is not None, f"no {text!r} in\n{screen(widget.app)}"
    return row


def _row_of(widget, text):
    return next((y for y, line in enumerate(text_of(widget).split("\n")) if text in line), None)


async def click_text(pilot, widget, text):
    """Click on a text that a widget shows, or will in a moment: a key's answer is drawn after it."""
    from rich.cells import cell_len

    await wait_for(pilot, lambda: _row_of(widget, text) is not None, f"{text!r} on the screen")
    y = row_of(widget, text)
    line = text_of(widget).split("\n")[y]
    await pilot.click(widget, offset=(cell_len(line[: line.index(text)]) + 1, y))
