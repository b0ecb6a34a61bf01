"""Folders that this user may not look into are a finding, never a fault. Judged by the kernel, as a user without rights."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prl_tui.core import catalog, checks
from prl_tui.core.config import Source, resolve
from prl_tui.machine import conda, facts
from prl_tui.machine.gpus import GpuSnapshot
from prl_tui.runs import claims
from prl_tui.tui.feeds import BoxFacts

CONFIG = resolve(catalog.load([], only="prl-grpo").find("prl-grpo"), "standard-4gpu").with_values(
    {"training_env": "conda:foo"}, Source.FORM
)
GPUS = GpuSnapshot(0.0)


def unseen(found):
    return [one.message for one in checks.check(CONFIG, found).findings if one.code == "box-unseen"]


@pytest.fixture
def as_nobody(tmp_path):
    """Run prl-tui with a home that it may not look into, by a user whom the kernel holds to that."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, to give its rights away")
    home = tmp_path / "shut"
    (home / "miniconda3").mkdir(parents=True)
    os.chown(home, 12345, 12345)
    home.chmod(0o700)
    environment = {**os.environ, "HOME": str(home), "PRL_TUI_LANG": "en"}
    for name in ("CONFIG", "STATE", "CACHE"):
        environment[f"XDG_{name}_HOME"] = str(tmp_path / name.lower())

    def run(*words):
        command = [
            "setpriv",
            "--bounding-set=-dac_override,-dac_read_search",
            "--inh-caps=-dac_override,-dac_read_search",
        ]
        return subprocess.run([*command, sys.executable, "-m", "prl_tui", *words], env=environment, cwd=tmp_path,
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)  # fmt: skip

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("check", "prl-grpo", "--here", "--set", "training_env=conda:foo"),
        ("launch", "prl-grpo", "--set", "training_env=conda:foo"),
        ("doctor", "--env", "conda:foo"),
    ],
    ids=lambda words: words[0],
)
def test_a_home_that_may_not_be_read_is_no_fault_of_a_command(as_nobody, words):
    done = as_nobody(*words)
    assert done.returncode == 1, done.stderr
    assert "fault" not in done.stdout + done.stderr
    assert "conda" in done.stdout + done.stderr


def refused(*_):
    raise PermissionError(13, "Permission denied", "/shut/data")


def test_a_look_up_that_the_system_refuses_is_a_finding(monkeypatch):
    monkeypatch.setattr(conda, "find", refused)
    found = facts.here(CONFIG, GPUS, facts.look_up(CONFIG, Path.cwd()))
    assert unseen(found) == ["What a launch here needs cannot be looked at: /shut/data: Permission denied."]


@pytest.mark.parametrize(
    "fault", [PermissionError(13, "Permission denied", "/shut/data"), ZeroDivisionError("planted")]
)
@pytest.mark.parametrize("place", [(facts, "look_up"), (claims, "held")], ids=lambda one: one[1])
def test_a_look_that_failed_in_the_app_is_no_go_on(monkeypatch, tmp_path, place, fault):
    def fails(*_):
        raise fault

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(*place, fails)
    box = BoxFacts()
    end = time.monotonic() + 30
    while not box.known(CONFIG):
        box.facts(CONFIG, GPUS)
        assert time.monotonic() < end
        time.sleep(0.01)
    [told] = unseen(box.facts(CONFIG, GPUS))
    assert ("/shut/data: Permission denied" if isinstance(fault, OSError) else "ZeroDivisionError") in told
