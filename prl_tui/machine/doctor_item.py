"""One thing that the doctor looked at."""

from __future__ import annotations

from typing import Literal

from prl_tui.core.value import Value

State = Literal["ok", "warning", "error", "unknown"]
GLYPHS: dict[State, str] = {"ok": "✓", "warning": "!", "error": "✗", "unknown": "·"}


class Item(Value):
    """A value, how good it is, and the way out where it is not."""

    code: str
    """What it is about, for scripts: hostname, nvml, shm, disk, memory, port, files, session-end, binding, …"""
    title: str
    value: str
    state: State = "ok"
    fix: str = ""
    """One sentence."""
