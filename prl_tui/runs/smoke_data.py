"""The first records of a data file, for a smoke test of a program whose data alone tell how long it runs."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from pathlib import Path

from prl_tui import atomic
from prl_tui.core.config import RunConfig
from prl_tui.machine import paths


def cut(config: RunConfig, records: Mapping[str, int], here: Path, place: Path) -> dict[str, str]:
    """Field → the absolute path of a file with so many first records of the one that it names; blank lines are none.

    The files lie below `place`, by their content, so that the same ones are written once. OSError where one cannot be
    read or written; a file that is not there is left to the check that names it.
    """
    base = here / paths.expanded(str(config.value("workdir") or "")) if "workdir" in config.settings else here
    found = {}
    for key, count in records.items():
        source = base / str(config.value(key))
        if not paths.is_file(source):
            continue
        with source.open("rb") as file:
            head = b"".join(itertools.islice((line.rstrip(b"\r\n") + b"\n" for line in file if line.strip()), count))
        folder = place / hashlib.sha256(head).hexdigest()[:16]
        target = folder / source.name
        if not target.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(target, head)
        found[key] = str(target)
    return found
