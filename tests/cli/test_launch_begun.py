"""What is at work for a launch before its words are read: nothing of it stays where that launch is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.helpers import until


def of(home: Path) -> list[int]:
    """Living processes whose environment names this home."""
    needle = b"XDG_STATE_HOME=" + os.fsencode(home)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("words", [(), ("nothing",), ("custom", "--odd"), ("custom", "--dry-run")], ids=" ".join)
def test_a_launch_that_is_refused_leaves_no_process_and_no_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "prl_tui", "launch", *words]
    done = subprocess.run(
        command, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}, capture_output=True, timeout=60, check=False
    )
    assert done.returncode != 0
    until(lambda: not of(tmp_path), "the end of what was begun for it")
    assert not list((tmp_path / "prl-tui" / "runs").glob("*"))
