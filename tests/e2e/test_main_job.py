"""The main job on a real terminal: choose, check, fix, launch, watch, leave, come back. Real torchrun, two ranks."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess

import pytest

from tests.e2e.terminal import DEADLINE, run, script, until

pytestmark = [pytest.mark.slow, pytest.mark.torch]

SMALL, WIDE = (80, 24), (160, 45)
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


def records(runs):
    """The exit records of all runs."""
    return [json.loads(path.read_text()) for path in sorted(runs.glob("*/exit.json"))]


def finished(runs):
    """There is one run, and it ended with 0; else what it said last, in the one line that a summary has."""
    (folder,) = runs.glob("[!.]*")
    code = json.loads((folder / "exit.json").read_text())["exit_code"]
    lines = (folder / "output.log").read_text(errors="replace").splitlines()
    told = [line for line in lines if "Error" in line or "Signal" in line][:4] + lines[-4:]
    assert code == 0, f"exit code {code}: " + " | ".join(line[-300:] for line in told)


def set_field(screen, name, value):
    """Find a setting by name and type a number into it."""
    screen.keys("/")
    screen.wait("find a setting", "the finder")
    screen.keys(*name)
    screen.wait(name, "the name typed")
    screen.keys("enter")
    screen.wait(lambda text: "▊" not in text, "the form again, the finder gone")
    screen.keys(*str(value), "enter")


def launch(screen, steps=12, delay=None):
    """From the form to the watch screen of a started run."""
    set_field(screen, "max_steps", steps)
    if delay:
        set_field(screen, "step_delay", delay)
    screen.wait("can launch here", "the verdict on this box")
    screen.keys("l")
    screen.wait("q leave", "the watch screen")


def test_choose_break_fix_launch_watch_leave_and_come_back_on_a_small_terminal(terminal, runs):
    the_whole_job(terminal, runs, SMALL)


def test_choose_break_fix_launch_watch_leave_and_come_back_on_a_large_terminal(terminal, runs):
    the_whole_job(terminal, runs, WIDE)


def the_whole_job(terminal, runs, size):
    screen = terminal(size=size)
    screen.wait("can launch here", "the form, the demo being the first recipe")
    screen.keys("p", "down", "up", "enter")
    screen.wait("demo/two-ranks", "the chosen preset")
    set_field(screen, "global_batch_size", 12)
    screen.wait(lambda text: "12 is not a multiple of" in text, "the finding")
    assert "✗ 1 error" in screen.text
    screen.keys("f")
    screen.wait(lambda text: "✗" not in text and "can launch here" in text, "no error after the fix")
    launch(screen, 12, 1)
    screen.wait(lambda text: "running" in text and "/ 12" in text, "the first steps")
    screen.keys("q")
    assert screen.end() == 0
    assert not records(runs), "leaving left the run alive"
    until(lambda: records(runs), "the run's own end")
    finished(runs)
    screen = terminal(size=size)
    screen.wait("can launch here", "the form again")
    screen.keys("R")
    screen.wait(lambda text: "✓ finished" in text, "the run in the list")
    screen.keys("enter")
    screen.wait(lambda text: "step 12 / 12" in text and "✓ finished" in text, "the run in watch")
    screen.keys("q")
    assert screen.end() == 0


@pytest.mark.parametrize("how", ["killed", "hung-up"])
def test_a_run_outlives_the_app_that_is_killed_or_loses_its_terminal(terminal, runs, environment, work, how):
    screen = terminal()
    screen.wait("can launch here", "the form")
    launch(screen, 12, "0.5")
    screen.wait(lambda text: "/ 12" in text, "the first steps")
    if how == "killed":
        screen.kill(signal.SIGKILL)
    else:
        os.close(screen.child.child_fd)
        screen.child.closed = True
        screen.child.child_fd = -1
    until(lambda: records(runs), "the run's own end")
    finished(runs)
    (folder,) = runs.glob("[!.]*")
    shown = run("logs", folder.name, environment=environment, cwd=work)
    assert shown.returncode == 0
    assert "12/12" in shown.stdout
    assert "End time of running main" in shown.stdout


def test_the_terminal_is_as_before_after_sigterm(terminal):
    screen = terminal()
    screen.wait("can launch here", "the form")
    screen.kill(signal.SIGTERM)
    screen.end()
    raw = bytes(screen.raw)
    assert raw.rfind(LEAVE) > raw.rfind(ENTER) >= 0, "the alternate screen is left"
    assert raw.rfind(SHOW) > raw.rfind(HIDE), "the cursor is shown"


def test_the_demo_on_a_terminal_runs_to_its_end_and_exits_0(terminal, runs):
    screen = terminal("demo", "--set", "max_steps=12")
    screen.wait(lambda text: "step 12 / 12" in text and "✓ finished" in text, "its end on the screen")
    screen.wait("closing in", "that it will close by itself")
    assert screen.end() == 0
    assert [record["exit_code"] for record in records(runs)] == [0]


@pytest.mark.parametrize(("sets", "code"), [((), 0), (("fail_rank=1", "fail_step=3"), 1)])
def test_the_demo_in_a_pipe_prints_progress_and_exits_with_the_runs_code(environment, work, runs, sets, code):
    words = [script(), "demo", "--plain", "--set", "max_steps=12"]
    for one in sets:
        words += ["--set", one]
    line = f"set -o pipefail; {shlex.join(words)} | cat"
    done = subprocess.run(
        ["bash", "-c", line], env=environment, cwd=work, capture_output=True, text=True, timeout=2 * DEADLINE
    )
    assert done.returncode == code, done.stderr
    assert "step " in done.stdout
    assert ("finished" in done.stdout) == (code == 0)
    assert f"exit code {code}" in done.stdout
    assert [record["exit_code"] for record in records(runs)] == [code]
