"""Notices in a corner of the screen: the same one stands there once, however often its key is pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.tui.cells import safe_lines

if TYPE_CHECKING:
    from textual.app import App
    from textual.notifications import Notification


def in_sight(app: App[int], wanted: Notification) -> bool:
    """Whether the same notice is there, and stays for a while; one that is about to go makes room for the new one."""
    for one in list(app._notifications):
        if (one.message, one.title, one.severity) != (wanted.message, wanted.title, wanted.severity):
            continue
        if one.time_left > one.timeout / 2:
            return True
        app._unnotify(one, refresh=False)  # what is drawn next has the new one in its place
    return False


def stands(app: App[int], sentence: str) -> bool:
    """Whether a notice that says this is still there."""
    return any(one.message == safe_lines(sentence) for one in app._notifications)


def take_back(app: App[int], sentence: str) -> None:
    """What it announced has come: it must not lie over that."""
    for one in list(app._notifications):
        if one.message == safe_lines(sentence):
            app._unnotify(one)
