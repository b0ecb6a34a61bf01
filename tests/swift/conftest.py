"""Real ms-swift, in an environment of its own: PRL_TUI_SWIFT_PYTHON names that environment's interpreter.

python3.11 -m venv /tmp/swift && /tmp/swift/bin/pip install torch==2.13.0
/tmp/swift/bin/pip install -r tests/swift/requirements.txt
PRL_TUI_SWIFT_PYTHON=/tmp/swift/bin/python python -m tests --only swift
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.swift.swift_runs import Bench

PYTHON = os.environ.get("PRL_TUI_SWIFT_PYTHON", "")
TINY = Path(__file__).parents[1] / "judges" / "tiny.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is of the group, and says why it is skipped."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.swift)
            if not PYTHON:
                item.add_marker(pytest.mark.skip(reason="PRL_TUI_SWIFT_PYTHON names no interpreter with ms-swift"))


@pytest.fixture(scope="session")
def swift_python() -> Path:
    """The interpreter of the training environment."""
    return Path(PYTHON)


@pytest.fixture(scope="session")
def tiny(swift_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model, its data and a reward, made by that interpreter."""
    folder = tmp_path_factory.mktemp("tiny")
    done = subprocess.run([swift_python, TINY, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def bench(swift_python: Path, tiny: Path, tmp_path: Path) -> Bench:
    """Launches recipes on the tiny model; outputs go to a folder of the test's own."""
    return Bench(swift_python, tiny, tmp_path)
