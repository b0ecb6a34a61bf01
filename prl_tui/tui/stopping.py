"""Stopping a run from a screen: asked first, done off the screen's thread, over only when nothing is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from prl_tui.i18n import t
from prl_tui.runs import stop as stopping
from prl_tui.runs.bare import BareRun
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE, OVER, State, status
from prl_tui.tui import toasts
from prl_tui.tui.screens.dialogs import Question

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp


EVERY = 0.5
"""Seconds between two looks whether the question still has a sense."""


def ask(app: PrlApp, folder: RunFolder) -> None:
    """Ask, then stop; where there is nothing to stop, say why."""
    if isinstance(folder, BareRun):
        app.tell(t("prl-tui did not start {id}: it cannot be stopped from here.", id=folder.id))
        return
    asked = app.screen

    def then(said: str) -> None:
        if app.screen is not asked:
            return  # somebody went elsewhere meanwhile
        if said:
            say(app, folder, said)
        else:
            app.push_screen(StopQuestion(folder), answered)

    def answered(yes: bool | None) -> None:
        if yes:
            app.beside.unfinished.stops[folder.id] = folder
            app.beside.do(f"stop {folder.id}", lambda: stopping.stop(folder, by="prl-tui"), told, finishes=True)

    def told(result: stopping.StopResult) -> None:
        if result.code == "asked":
            say_until_over(app, folder, result.sentence)
            see_through(app, folder)
        else:
            app.beside.unfinished.stops.pop(folder.id, None)
            app.tell(result.sentence, "warning" if result.refused else "information")

    awaited = t("Looking at run {id} …", id=folder.id)
    app.beside.do(f"may stop {folder.id}", lambda: why_not(folder), then, awaited=awaited, holds_keys=True)


def lives(one: Overview) -> bool:
    """Whether processes of a run may be there, by what was read of it last; of others' runs nobody knows them."""
    return not isinstance(one.folder, BareRun) and one.status.state in {*ALIVE, "unknown", "lost"}


def offered(one: Overview) -> bool:
    """Whether a run may be asked to stop, by what was read of it last."""
    return lives(one) and one.status.state != "stopping"


def why_not(folder: RunFolder) -> str:
    """Why a run cannot be asked to stop: it has ended, or was asked before; "" where it goes on, or may."""
    state = status(folder).state
    if state == "stopping":
        return _at_it(folder)
    if state in {*ALIVE, "unknown"} or (state == "lost" and stopping.leftovers(folder)):
        return ""
    return t("run {id} has ended already", id=folder.id)


def _at_it(folder: RunFolder) -> str:
    return t("run {id} is being stopped: what does not end by itself gets TERM, then KILL", id=folder.id)


def say(app: PrlApp, folder: RunFolder, why: str) -> None:
    """Why a run cannot be asked to stop; see `why_not`."""
    if why == _at_it(folder):
        say_until_over(app, folder, why)
    else:
        app.tell(why)


def say_until_over(app: PrlApp, folder: RunFolder, sentence: str) -> None:
    """Say that a run is being stopped, and take it back once the run has ended: its head says so by then."""
    app.tell(sentence)

    def look() -> None:
        if toasts.stands(app, sentence):
            app.beside.do(f"end of {folder.id}: {sentence}", lambda: status(folder).state, then)
        else:
            clock.stop()

    def then(state: State) -> None:
        if state in OVER and state != "lost":  # what was left of a lost run may be what is being stopped
            clock.stop()
            toasts.take_back(app, sentence)

    clock = app.set_interval(EVERY, look)


def see_through(app: PrlApp, folder: RunFolder) -> None:
    """Bring a stop that was asked for to its end, also where the supervisor that is at it dies."""

    def look() -> None:
        app.beside.do(f"bring on {folder.id}", go_on, then, finishes=True)

    def go_on() -> stopping.StopResult | None:
        result = stopping.take_over(folder, by="prl-tui")
        return stopping.StopResult("ended", "") if result is None and status(folder).over else result

    def then(result: stopping.StopResult | None) -> None:
        if result is not None:
            clock.stop()
            app.beside.unfinished.stops.pop(folder.id, None)
            if result.sentence:
                app.tell(result.sentence, "warning" if result.refused else "information")

    clock = app.set_interval(2 * EVERY, look)


class StopQuestion(Question):
    """Asks whether to stop a run, as long as there is something to stop."""

    def __init__(self, folder: RunFolder) -> None:
        details = t("Every process that it started gets INT, then TERM, then KILL.")
        super().__init__(t("Stop run {id}?", id=folder.id), t("stop"), t("let it run"), details)
        self._folder = folder

    def on_mount(self) -> None:
        """Look again and again, off this thread."""
        self.set_interval(EVERY, self._look)

    def _look(self) -> None:
        app, folder = cast("PrlApp", self.app), self._folder
        app.beside.do(f"still {folder.id}", lambda: why_not(folder), self._close)

    def _close(self, said: str) -> None:
        """It ended, or somebody else stopped it: “let it run” is no answer any more."""
        if said and self.is_attached and not self._answered:
            say(cast("PrlApp", self.app), self._folder, said)
            self.answer(False)
