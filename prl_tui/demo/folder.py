"""The run's folder: versions named as ms-swift names them, made once and whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_VERSION = re.compile(r"v(\d+)")


def next_version(output_dir: Path) -> int:
    """One more than the highest vN among all entries of `output_dir`, files too; 0 if there is none."""
    entries = output_dir.iterdir() if output_dir.is_dir() else ()
    numbers = [int(found[1]) for entry in entries if (found := _VERSION.match(entry.name))]
    return max(numbers, default=-1) + 1


def make_run_folder(output_dir: str, add_version: bool, now: datetime) -> Path:
    """Make the run's folder and give its absolute path; `now` is local time. OSError if that is impossible."""
    root = Path(output_dir).resolve()
    root.mkdir(parents=True, exist_ok=True)
    if not add_version:
        return root
    number = next_version(root)
    while True:
        folder = root / f"v{number}-{now:%Y%m%d-%H%M%S}"
        try:
            folder.mkdir()
        except FileExistsError:  # another run took the name a moment ago
            number += 1
        else:
            return folder
