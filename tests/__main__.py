"""Every check of this project, in order: `python -m tests`; `--only STEP` runs one of them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = sys.executable
CORES = len(os.sched_getaffinity(0))
WORKERS = str(min(4, CORES))
WAITERS = str(min(4, CORES + 1))
"""The slow tests wait for runs as much as they work."""

STEPS: dict[str, list[str]] = {
    "lint": [PYTHON, "-m", "ruff", "check", "."],
    "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "types": [PYTHON, "-m", "mypy"],
    "imports": [PYTHON, "-c", "from importlinter.cli import lint_imports_command as run; run()"],
    "catalogue": [PYTHON, "tests/tools/catalogue.py", "check"],
    "fast": [
        PYTHON,
        "-m",
        "pytest",
        "-q",
        "-n",
        WORKERS,
        "-m",
        "not slow and not torch and not swift",
        "--durations=8",
    ],
    "slow": [  # a file stays on one worker: its runs, daemons and trained models are made once
        PYTHON,
        "-m",
        "pytest",
        "-q",
        "-n",
        WAITERS,
        "--dist",
        "loadfile",
        "-m",
        "(slow or torch) and not swift",
        "--durations=15",
    ],
    "swift": [PYTHON, "-m", "pytest", "-q", "-m", "swift", "--durations=0"],
}


def around() -> dict[str, str]:
    """The environment of a step: its processes keep their bytecode, else each of thousands compiles all modules."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> int:
    """Run the steps; 1 when any of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    parser.add_argument("--only", choices=list(STEPS), action="append", help="run this step; may be repeated")
    wanted = parser.parse_args().only or list(STEPS)
    failed = []
    for name in wanted:
        began = time.monotonic()
        print(f"\n-- {name}", flush=True)
        code = subprocess.run(STEPS[name], cwd=ROOT, env=around(), check=False).returncode
        print(
            f"-- {name}: {'passed' if code == 0 else f'FAILED ({code})'}, {time.monotonic() - began:.0f} s", flush=True
        )
        if code:
            failed.append(name)
    print("\nall steps passed" if not failed else f"\nfailed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
