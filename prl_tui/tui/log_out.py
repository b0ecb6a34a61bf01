"""What leaves a log: copied lines, the log in the person's own pager or editor, its text in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from prl_tui import atomic, reasons
from prl_tui.i18n import nt, t
from prl_tui.machine import paths, viewer
from prl_tui.telemetry import log_text
from prl_tui.telemetry.slow_patterns import TooSlowError
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.tui.cells import safe
from prl_tui.tui.screens.dialogs import AskText, Question

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.widgets.log_view import LogView

MOST = 64 << 10
"""Characters that are copied: terminals drop a clipboard text (OSC 52) that is much longer."""
_LONGEST_COPIED = 1 << 19
"""Bytes that so many characters have at most, colours between them included."""


def copy(app: PrlApp, view: LogView, *, current: bool = False) -> None:
    """Put the lines in sight, or the one last jumped to, on the terminal's clipboard."""
    lines = view.in_sight(_LONGEST_COPIED)
    if current:
        lines = [one for one in lines if one[0] == view.current_line] or lines[:1]
    kept: list[str] = []
    room = MOST
    for _, text in lines:
        room -= len(text) + 1
        if room < 0:
            break
        kept.append(text)
    if not kept:
        app.tell(t("Nothing is copied: a line of more than {n} characters is no clipboard's.", n=MOST) if lines
                 else t("There is no line to copy."), "warning")  # fmt: skip
        return
    app.copy_to_clipboard("\n".join(kept) + "\n")
    n = len(kept)
    app.tell(nt("copied 1 line; a terminal without OSC 52 keeps its old clipboard",
                "copied {n} lines; a terminal without OSC 52 keeps its old clipboard", n))  # fmt: skip


def open_in(app: PrlApp, view: LogView, kind: viewer.Kind) -> None:
    """The log's file in $PAGER or $EDITOR, at the line last jumped to where that is in sight, else at the last there.

    At the last, since a rank's log is made of two files: its end, which one follows and where a traceback stands, decides.
    """
    source = view.log_source
    if not isinstance(source, TailFirst):
        return
    seen = [number for number, _ in view.in_sight()]
    line = view.current_line if view.current_line in seen else next(reversed(seen), 0)
    path, number = source.file_of(view.number_of(line or 0))
    if not paths.is_file(path):
        app.tell(t("Nothing is written yet."), "warning")
        return
    try:
        words = viewer.command(kind, path, None if number is None else number + 1, os.environ)
        with app.suspend():
            problem = viewer.run(words)
    except ValueError as error:
        problem = str(error)
    except SuspendNotSupported:
        problem = t("This terminal cannot be given to another program.")
    if problem:
        app.tell(problem, "error")


def save(app: PrlApp, view: LogView, suggested: str) -> None:
    """Ask for a file and write the lines that are shown to it, as plain text."""
    if not view.in_sight():
        app.tell(t("There is no line to save."), "warning")
        return
    exists: list[Path] = []

    def accept(given: str) -> str:
        path = paths.expanded(given)
        problem = _refusal(view, path)
        if problem:
            return problem
        if paths.exists(path):
            exists.append(path)
        return ""

    def answered(given: str | None) -> None:
        if not given or not given.strip():
            return
        path = paths.expanded(given.strip())
        if path in exists:
            question = t("{path} exists. Replace it?", path=path)
            app.push_screen(
                Question(question, t("replace"), t("keep it")), lambda yes: _write(app, view, path) if yes else None
            )
        else:
            _write(app, view, path)

    what = t("Save the lines that are shown as which file?") if view.filtered else t("Save the log as which file?")
    hint = t("A name alone is put into {folder}", folder=paths.here())
    app.push_screen(AskText(what, safe(suggested).replace("/", "-"), hint, accept), answered)


def _refusal(view: LogView, path: Path) -> str:
    if paths.exists(path) and not paths.is_file(path):  # a pipe would be waited for
        return t("{path} is no file that can be replaced: choose another name.", path=path)
    source = view.log_source
    own = source.files() if isinstance(source, TailFirst) else ()
    if any(_is_same(one, path) for one in own):
        return t("{path} is the log itself: choose another name.", path=path)
    return ""


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there, or not to be looked at: writing says so
        return False


def _write(app: PrlApp, view: LogView, path: Path) -> None:
    """On a thread: a log may have gigabytes."""
    source, shown = view.log_source, view.filtered is None
    wanted = None if shown else view.wanted()
    if source is None:
        return

    def is_left() -> bool:
        return app.beside.leaving.is_set() or not view.is_attached

    def work() -> None:
        try:
            parts = log_text.parts(source, wanted, shown, is_left)
            atomic.write_parts(atomic.behind(path), parts)
            said = t("wrote {path}", path=paths.here() / path)
            app.call_later(app.tell, said)
        except OSError as error:
            app.call_later(
                app.tell, t("{path} cannot be written: {reason}.", path=path, reason=reasons.of(error)), "error"
            )
        except TooSlowError as error:
            app.call_later(app.tell, t("Not saved. {reason}", reason=error), "error")
        except log_text.AnotherLogError:
            left = t("Not saved: the log's screen was left meanwhile.")
            app.call_later(app.tell, left if is_left() else t("Not saved: the log began anew meanwhile."), "error")

    app.beside.do(f"save {path}", work, finishes=True)  # it takes away what it has begun
    app.tell(t("Writing {path} …", path=path))
