"""The first records of a data file, for a smoke test of a program whose data alone tell how long it runs."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from prl_tui import atomic, regular
from prl_tui.core.config import RunConfig
from prl_tui.machine import paths

KEPT = 30 * 86_400
"""Seconds for which the first records of a file are kept after their last use."""


def cut(config: RunConfig, records: Mapping[str, int], here: Path, place: Path) -> dict[str, str]:
    """Field → the absolute path of a file with so many first records of the one that it names; blank lines are none.

    The files lie below `place`, by their content, so that the same ones are written once, and go a month
    after their last use. OSError where one cannot be
    read or written; a file that is not there is left to the check that names it.
    """
    base = here / paths.expanded(str(config.value("workdir") or "")) if "workdir" in config.settings else here
    found = {}
    for key, count in records.items():
        source = base / str(config.value(key))
        if not paths.is_file(source):
            continue
        with regular.opened(source) as file:
            head = b"".join(itertools.islice((line.rstrip(b"\r\n") + b"\n" for line in file if line.strip()), count))
        folder = place / hashlib.sha256(head).hexdigest()[:16]
        target = folder / source.name
        if not paths.is_file(target):
            folder.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(target, head)
        os.utime(target)
        found[key] = str(target)
    if found:
        _clear(place, time.time() - KEPT)
    return found


def _clear(place: Path, oldest: float) -> None:
    """What no smoke test has used for so long goes; a folder that cannot be removed stays."""
    for folder in place.iterdir():
        with contextlib.suppress(OSError):
            if max((file.stat().st_mtime for file in folder.iterdir()), default=0.0) < oldest:
                shutil.rmtree(folder)
