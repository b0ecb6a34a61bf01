"""A run that prl-tui did not start: an output folder, a log, or a folder of runs, found by its path or as `v31`. Read only."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from prl_tui import regular
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.runs import records
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.state import RunStatus
from prl_tui.telemetry.run_view import RunView

METRICS = "logging.jsonl"
"""ms-swift's table of metrics, one in each of its `vN-DATE` folders."""
LOGS = (".log", ".out", ".err", ".txt")
"""Endings of what may be a console's log."""
_VERSION = re.compile(r"v[0-9]+(?:-[\w.-]*)?")
RECENT = 100
"""Runs whose logs are looked into."""
BEGINNING = 1 << 18
"""Bytes at a log's beginning in which a trainer names its folder."""
_DEEP = 4
"""Folders below the one that was named that are looked into."""
_MOST = 20_000
"""Entries that one search looks at: a folder of data is not walked to its end."""


class BareRun(RunFolder):
    """`path` is the folder that holds the metrics, or else the log."""

    log: Path | None = None
    """What the console said, where somebody kept it."""
    metrics: Path | None = None

    @property
    def id(self) -> str:
        """The name of the file or folder."""
        return (self.path if self.metrics is not None or self.log is None else self.log).name or str(self.path)

    @property
    def output(self) -> Path:
        """The log; where there is none, a file that does not exist."""
        return self.log or self.path / records.OUTPUT

    def kind(self) -> str:
        """What it is, for a line that names it."""
        if self.metrics is None:
            return t("a log, not a run of prl-tui's")
        return t("an output folder, not a run of prl-tui's")

    def info(self) -> None:
        """Nothing was written down before its start."""
        return


def find(text: str, here: Path) -> RunFolder | None:
    """The run that a path or a name such as `v31` means; None where it is neither, or nothing of a run lies there."""
    if not text.strip():
        return None  # Path("") is the working directory
    try:
        path = Path(text).expanduser()
        if path.is_file():
            return _of_file(path.resolve())
        if path.is_dir():
            return _of_folder(path.resolve())
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL, no home
        return None
    if _VERSION.fullmatch(text):
        named = [one for one in _walk(here, 3) if paths.is_dir(one) and one.name.split("-")[0] == text.split("-")[0]]
        fits = [one for one in named if one.name.startswith(text)]
        return _of_folder(max(fits, key=_changed).resolve()) if fits else None
    return None


def refused(found: BareRun) -> OSError | None:
    """What the system says where none of its files can be read; None where one can."""
    problems = [problem_of(path) for path in (found.metrics, found.log) if path is not None]
    return None if None in problems else next(iter(problems), None)


def hidden(text: str) -> OSError | None:
    """What keeps somebody from looking at a path, or into a folder at or below it; None where nothing does."""
    try:
        top = Path(text).expanduser()
        mode = top.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        return error
    except (ValueError, RuntimeError):  # a NUL, no home
        return None
    if not stat.S_ISDIR(mode):
        return problem_of(top)
    for one in (top, *_walk(top, _DEEP - 1)):
        problem = problem_of(one, folders=True)
        if problem is not None and (one is top or isinstance(problem, PermissionError)):
            return problem
    return None


def problem_of(path: Path, *, folders: bool = False) -> OSError | None:
    """Why a file or folder cannot be read; None where it can. `folders`: of a file only why it cannot be looked at."""
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):  # noqa: PTH116
            os.scandir(path).close()
        elif not folders:
            regular.opened(path).close()
    except OSError as problem:
        return problem
    return None


def own(found: BareRun, runs: list[RunFolder]) -> RunFolder | None:
    """The run of ours that writes there: the beginning of its log names the folder, or the log is its own."""
    for run in runs[:RECENT]:
        if found.log is not None and found.log.is_relative_to(run.path):
            return run
        info = run.info()
        if found.metrics is None or not isinstance(info, dict):
            continue
        with contextlib.suppress(OSError), regular.opened(run.output) as log:
            if os.fsencode(found.path.name) in log.read(BEGINNING) and found.path.is_relative_to(str(info.get("cwd"))):
                return run
    return None


def status(view: RunView) -> RunStatus:
    """Nobody saw how it began or ended: `unknown`, with what its files show."""
    said = t("training done, by its own log") if view.done else t("prl-tui did not start it: read only")
    return RunStatus("unknown", detail=said)


def _of_file(path: Path) -> RunFolder:
    if path.name == METRICS:
        return BareRun(path.parent, _newest(_logs(path.parent)), path)
    return BareRun(path.parent, path, None)


def _of_folder(path: Path) -> RunFolder | None:
    if paths.is_file(path / records.RUN):
        return RunFolder(path)
    found = list(_walk(path, _DEEP))
    metrics = _newest(one for one in found if one.name == METRICS and paths.is_file(one))
    if metrics is not None:
        return BareRun(metrics.parent, _newest(_logs(metrics.parent)) or _newest(_logs(path)), metrics)
    log = _newest(_logs(path)) or _newest(one for one in found if one.suffix in LOGS and paths.is_file(one))
    return BareRun(log.parent, log, None) if log is not None else None


def _logs(folder: Path) -> Iterator[Path]:
    try:
        for entry in os.scandir(folder):
            if entry.name.endswith(LOGS) and entry.is_file():
                yield Path(entry.path)
    except OSError:
        return


def _newest(paths: Iterator[Path]) -> Path | None:
    return max(paths, key=_changed, default=None)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _walk(top: Path, deep: int) -> Iterator[Path]:
    """What lies below a folder, the nearest first; links to folders are not followed."""
    todo, left = [(top, 0)], _MOST
    while todo:
        folder, depth = todo.pop(0)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            left -= 1
            if left < 0:
                return
            path = Path(entry.path)
            yield path
            if depth + 1 < deep and entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                todo.append((path, depth + 1))
