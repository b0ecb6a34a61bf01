"""The working directory's own `.prl-tui/`: used only after somebody said yes, once, since a recipe names commands."""

from __future__ import annotations

import json
from pathlib import Path

from prl_tui import atomic, regular
from prl_tui.i18n import t
from prl_tui.machine import paths


def folder_here() -> Path | None:
    """The working directory's `.prl-tui/`, if there is one."""
    here = paths.project_dir(paths.here())
    return here if here.is_dir() else None


def recipe_folders(project: Path | None) -> list[Path]:
    """Where recipes and presets are read from: the person's, and a project's that was allowed."""
    own = paths.own_recipe_dirs()
    if project is None or not known(project):
        return own
    return [*own, project, project / "recipes", project / "presets"]


def known(folder: Path) -> bool | None:
    """What was answered for a folder; None when nobody was asked yet."""
    answer = _answers().get(str(folder.resolve()))
    return answer if isinstance(answer, bool) else None


def remember(folder: Path, allowed: bool) -> None:
    """Keep the answer for a folder."""
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_json(path, {**_answers(), str(folder.resolve()): allowed})


def question(folder: Path) -> str:
    """What is asked, in one sentence."""
    return t("{path} has recipes of its own, and a recipe names commands that will run. Use them?", path=folder)


def _path() -> Path:
    return paths.state_dir() / "projects.json"


def _answers() -> dict[str, object]:
    try:
        found = json.loads(regular.read_text(_path()))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
