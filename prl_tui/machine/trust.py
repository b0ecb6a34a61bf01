"""The working directory's own `.prl-tui/`: used only after somebody said yes, once, since a recipe names commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

from prl_tui import atomic, reasons, regular
from prl_tui.i18n import t
from prl_tui.machine import paths

_now: dict[str, bool] = {}
"""What was answered since this program was started, by folder."""


def folder_here() -> Path | None:
    """The working directory's `.prl-tui/`, if there is one."""
    here = paths.project_dir(paths.here())
    return here if paths.is_dir(here) else None


def recipe_folders(project: Path | None) -> list[Path]:
    """Where recipes and presets are read from: the person's, and a project's that was allowed."""
    own = paths.own_recipe_dirs()
    if project is None or not known(project):
        return own
    return [*own, project, project / "recipes", project / "presets"]


def known(folder: Path) -> bool | None:
    """What was answered for a folder; None when nobody was asked yet."""
    name = _name(folder)
    answer = _now[name] if name in _now else _answers().get(name)
    return answer if isinstance(answer, bool) else None


def remember(folder: Path, allowed: bool) -> str:
    """Keep the answer for a folder; "", or why it only holds until this program ends."""
    path, name = _path(), _name(folder)
    _now[name] = allowed
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(path, {**_answers(), name: allowed})
    except OSError as error:
        return t("The answer is not kept: {path} cannot be written: {reason}.", path=path, reason=reasons.of(error))
    return ""


def question(folder: Path) -> str:
    """What is asked, in one sentence."""
    return t("{path} has recipes of its own, and a recipe names commands that will run. Use them?", path=folder)


def _name(folder: Path) -> str:
    """By which it is known, whatever links lead there."""
    return os.path.realpath(folder)


def _path() -> Path:
    return paths.state_dir() / "projects.json"


def _answers() -> dict[str, object]:
    try:
        found = json.loads(regular.read_text(_path()))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
