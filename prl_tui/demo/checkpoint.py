"""Checkpoint folders: what is named `checkpoint-N` is always whole. No torch here: what is inside is the caller's."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prl_tui import atomic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STATE_FILE = "trainer_state.json"

_NAME = re.compile(r"checkpoint-(\d+)")
_BESIDE = re.compile(r"\.checkpoint-\d+\.(?:tmp|old)")


def checkpoint_path(run_folder: Path, step: int) -> Path:
    """Where the checkpoint of a step is, or would be."""
    return run_folder / f"checkpoint-{step}"


def checkpoints_in(run_folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest step first."""
    found = [(int(name[1]), path) for path in run_folder.iterdir() if (name := _NAME.fullmatch(path.name))]
    return [path for _, path in sorted(found)]


def write_checkpoint(run_folder: Path, step: int, state: Mapping[str, object], fill: Callable[[Path], None]) -> Path:
    """Let `fill` write its files beside, add the trainer's state, and rename; an old folder of the name is replaced."""
    target = checkpoint_path(run_folder, step)
    beside = run_folder / f".{target.name}.tmp"
    _remove(beside)
    beside.mkdir()
    fill(beside)
    atomic.write_json(beside / STATE_FILE, state)
    _sync_folder(beside)
    old = _old(target)
    if target.exists():
        target.rename(old)
    beside.rename(target)
    _sync_folder(run_folder)
    _remove(old)
    return target


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The trainer's state of a checkpoint; ValueError if there is no whole checkpoint."""
    file = checkpoint / STATE_FILE
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        int(state["global_step"]), int(state["samples_seen"]), list(state["log_history"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ValueError(f"resume_from_checkpoint: no usable {STATE_FILE} in {checkpoint} ({problem})") from problem
    return dict(state)


def forget_old(run_folder: Path, limit: int | None, best: Path | None) -> list[Path]:
    """Delete the oldest checkpoints above `limit`, never the best nor the newest; what was deleted.

    Also what a process that was killed left half written or half deleted. For the one process that writes here.
    """
    for entry in list(run_folder.iterdir()):
        if _BESIDE.fullmatch(entry.name):
            _remove(entry)
    present = checkpoints_in(run_folder)
    if limit is None or len(present) <= limit:
        return []
    excess = len(present) - limit
    spare = [path for path in present[:-1] if path != best]
    for path in spare[:excess]:
        beside = _old(path)
        path.rename(beside)  # first of all it loses its name: half a checkpoint is none
        _remove(beside)
    return spare[:excess]


def _old(checkpoint: Path) -> Path:
    """Where a checkpoint goes that is given up, until it is deleted."""
    beside = checkpoint.with_name(f".{checkpoint.name}.old")
    _remove(beside)
    return beside


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse to fsync a folder
        pass
    finally:
        os.close(descriptor)
