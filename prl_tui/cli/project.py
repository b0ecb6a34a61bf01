"""The working directory's own `.prl-tui/`: used only after somebody said yes, once, since a recipe names commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from prl_tui import atomic
from prl_tui.i18n import t
from prl_tui.machine import paths


def folders(ask: bool = True) -> list[Path]:
    """The project's folders of recipes and presets, if there are any and they may be used."""
    here = paths.project_dir(Path.cwd())
    if not here.is_dir():
        return []
    answer = known(here)
    if answer is None and ask:
        answer = _ask(here)
    return [here, here / "recipes", here / "presets"] if answer else []


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


def _ask(folder: Path) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        told = t("{path} is not used: nobody has allowed it. `prl-tui recipes --trust yes` allows it.", path=folder)
        print(told, file=sys.stderr)
        return False
    print(f"{question(folder)} [y/N] ", end="", file=sys.stderr, flush=True)
    allowed = sys.stdin.readline().strip().lower() in {"y", "yes", "是"}
    remember(folder, allowed)
    return allowed


def _path() -> Path:
    return paths.state_dir() / "projects.json"


def _answers() -> dict[str, object]:
    try:
        found = json.loads(_path().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
