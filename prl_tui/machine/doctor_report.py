"""The whole examination, and its lines for a person."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from prl_tui.core import secrets
from prl_tui.core.plan import activation_of
from prl_tui.core.value import replace
from prl_tui.i18n import cells, pad, t
from prl_tui.machine import doctor, doctor_env, paths
from prl_tui.machine.doctor_item import GLYPHS, Item
from prl_tui.machine.gpu_feed import once


def look(env: str = "", hook: str = "") -> list[Item]:
    """Everything about the box and the training environment `env` (as `training_env` says it). Takes seconds."""
    snapshot = once()
    activation = activation_of(env, hook)
    found = [*doctor.examine(snapshot, folders(os.environ)), *doctor_env.examine(activation, snapshot, os.environ)]
    hidden = secrets.forms_hidden  # an environment's name, a variable's value: whatever stands there
    return [replace(item, title=hidden(item.title), value=hidden(item.value), fix=hidden(item.fix)) for item in found]


def folders(values: Mapping[str, str]) -> dict[str, Path]:
    """What needs room: here (checkpoints), the runs, models and data sets, scratch."""
    hub = Path(values.get("HF_HOME") or values.get("XDG_CACHE_HOME") or paths.home(values) / ".cache")
    return {
        t("here"): paths.here(),
        t("runs"): paths.runs_dir(values),
        t("models"): hub,
        t("scratch"): Path(tempfile.gettempdir()),
    }


def lines(items: list[Item]) -> list[str]:
    """One line for each, with its way out below."""
    width = min(40, max((cells(item.title) for item in items), default=0))
    out = []
    for item in items:
        out.append(f"{GLYPHS[item.state]} {pad(item.title, width)}  {item.value}")
        if item.fix:
            out.append(f"    {item.fix}")
    return out


def errors(items: Iterable[Item]) -> int:
    """How many items are errors."""
    return sum(item.state == "error" for item in items)
