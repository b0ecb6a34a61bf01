"""The working directory was removed: what needs none works, the rest says one sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prl_tui
from prl_tui.machine import paths


@pytest.fixture
def gone(tmp_path):
    """Runs the command line in a folder that is not there any more."""
    folder = tmp_path / "gone"
    environment = {name: value for name, value in os.environ.items() if name != "PWD"}
    for name in ("STATE", "CONFIG", "CACHE"):
        environment[f"XDG_{name}_HOME"] = str(tmp_path / name)
    environment["PYTHONPATH"] = str(Path(prl_tui.__file__).parents[1])
    code = (
        "import os, sys; os.rmdir(os.getcwd());"
        "os.execv(sys.executable, [sys.executable, '-m', 'prl_tui', *sys.argv[1:]])"
    )

    def run(*words):
        folder.mkdir()
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60)  # fmt: skip
        assert "unexpected" not in done.stderr, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    run.folder = folder
    return run


def test_the_folder_has_the_name_that_the_system_gives_it(gone):
    folder = gone.folder
    folder.mkdir()
    code = "import os; os.rmdir(os.getcwd()); from prl_tui.machine import paths; print(paths.here())"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(Path(prl_tui.__file__).parents[1])})  # fmt: skip
    assert done.stdout.strip() == f"{folder} (deleted)"
    assert not paths.exists(done.stdout.strip())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("check", "prl-grpo"),
        ("export", "prl-grpo", "--format", "env"),
        ("recipes",),
        ("presets",),
        ("doctor",),
        ("runs",),
        ("check", "demo", "--json"),
    ],
    ids=" ".join,
)
def test_what_needs_no_folder_works(gone, words):
    done = gone(*words)
    assert done.returncode in ({0, 1} if words[0] == "doctor" else {0}), done.stderr
    assert done.stdout or words == ("runs",)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--detach", "--foreground"])
def test_a_launch_says_what_is_missing(gone, way):
    done = gone("launch", "demo", "--no-probe", way)
    assert done.returncode == 1
    assert f"✗ The working directory {gone.folder} (deleted) is missing." in done.stderr


@pytest.mark.slow
def test_a_check_for_this_box_says_what_a_launch_would(gone):
    done = gone("check", "demo", "--here")
    assert done.returncode == 1
    assert f"✗ The working directory {gone.folder} (deleted) is missing." in done.stdout


def test_a_working_directory_that_is_missing_is_an_error_of_its_field(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("check", "prl-grpo/standard-4gpu", "--here", "--json", "--set", "workdir=none")
    found = [one for one in json.loads(done.out)["findings"] if one["code"] == "folder-missing"]
    assert [(one["severity"], one["field"], str(tmp_path / "none") in one["message"]) for one in found] == [
        ("error", "workdir", True)
    ]
    done = cli("check", "prl-grpo/standard-4gpu", "--here", "--json", "--set", f"workdir={tmp_path}")
    assert "folder-missing" not in done.out


@pytest.mark.slow
def test_an_export_to_a_relative_name_says_that_it_cannot_be_written(gone):
    done = gone("export", "demo", "--format", "bash", "-o", "x.sh")
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1] == "prl-tui: x.sh cannot be written: No such file or directory."


def test_nobody_asks_for_the_working_directory_another_way():
    """The judge of the kind: `Path.cwd` and `os.getcwd` raise where it is gone. (The probe's child starts in one.)"""
    package = Path(prl_tui.__file__).parent
    found = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"\bPath\.cwd\b|\bos\.getcwdb?\b", file.read_text("utf-8"))
    ]
    assert sorted(found) == ["machine/paths.py", "runs/trial_child.py"]
