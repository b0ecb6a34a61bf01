"""Runs that live though their folder is gone or its records are damaged: the mark of their processes alone tells."""

from __future__ import annotations

import os
from pathlib import Path

from prl_tui.machine import paths
from prl_tui.runs import proctree, records
from prl_tui.runs.folder import RunFolder, read_started
from prl_tui.runs.place import is_of_this_namespace
from prl_tui.runs.records import Broken


def find(root: Path) -> list[RunFolder]:
    """Those of `root`; one look at all processes."""
    home = Path(os.path.realpath(root))
    names: dict[str, None] = {}
    for pid, seen in proctree.scan().items():
        mark = proctree.marked(pid)
        if mark is None or mark.parent != home or seen.group == pid:  # before it forks it has no run yet
            continue
        if proctree.is_supervisor(proctree.words_of(pid)) and is_of_this_namespace(pid):
            names[mark.name] = None
    return [folder for folder in (RunFolder(home / name) for name in names) if is_gone(folder)]


def supervisors(folder: RunFolder) -> list[proctree.Seen]:
    """Live supervisors of a run of this place, by their mark and their command; also one that has not reported yet."""
    return [one for one in _marked(folder) if proctree.is_supervisor(proctree.words_of(one.pid))]


def left(folder: RunFolder) -> list[proctree.Seen]:
    """What lives of a run that only marks tell of, but for its supervisor and this process; nothing of any other run."""
    found = living(folder) if is_unrecorded(folder) else []
    return [one for one in found if not proctree.is_supervisor(proctree.words_of(one.pid))]


def living(folder: RunFolder) -> list[proctree.Seen]:
    """All that lives of a run by its mark, its supervisor among it, but for this process."""
    return [one for one in _marked(folder) if one.pid != os.getpid()]


def lives(folder: RunFolder) -> bool:
    """Whether a run goes on of which only marks tell."""
    return is_unrecorded(folder) and bool(supervisors(folder))


def is_unrecorded(folder: RunFolder) -> bool:
    """Whether no record says who runs it: its folder is gone, or they are damaged. A newer prl-tui's are not."""
    started = read_started(folder)
    return started is None or (isinstance(started, Broken) and started.code != "newer")


def is_gone(folder: RunFolder) -> bool:
    """Whether no record of its start is there any more; torchrun makes the folder of its logs again when it restarts."""
    return not any(paths.exists(folder.path / name) for name in (records.RUN, records.STATE))


def _marked(folder: RunFolder) -> list[proctree.Seen]:
    """A container's run may have the same path, and its folder only there."""
    seen = proctree.tree([], Path(os.path.realpath(folder.path)))
    return [one for one in seen if is_of_this_namespace(one.pid)]
