"""A foreground launch shows the output, hands the code on, and passes signals on as a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.runs import launcher, stop
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.launcher import Job
from prl_tui.runs.state import status
from tests.runs.helpers import PROGRAMS, ended, is_living, members, supervisor_of, until


@pytest.fixture
def foreground(root):
    """Start programs/foreground.py; returns the process and the run's folder."""
    started = []

    def start(answer, *command):
        words = [sys.executable, PROGRAMS / "foreground.py", root, answer, *command]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        return process, RunFolder(Path(process.stderr.readline().decode().strip()))

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_it_shows_the_output_and_ends_with_the_code(root):
    shown = []
    job = Job((sys.executable, "-c", "print('one'); print('two'); raise SystemExit(9)"))
    folder, code = launcher.run_foreground(root, job, on_output=shown.append)
    assert code == 9
    assert b"".join(shown) == b"one\ntwo\n" == folder.output.read_bytes()


def test_a_signal_is_128_and_its_number(root):
    job = Job((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"))
    assert launcher.run_foreground(root, job)[1] == 137


def test_int_stops_the_run(foreground, pids):
    process, folder = foreground("stop", sys.executable, PROGRAMS / "family.py", "polite", pids)
    family = members(pids)
    process.send_signal(signal.SIGINT)
    stop.stop(folder, stop.Grace(0.2, 5))  # not to wait for the daemon's grace
    assert process.wait(20) == 130
    assert not any(map(is_living, family.values()))
    assert status(folder).state == "stopped"


def test_term_is_passed_on_as_term_at_once(foreground, pids):
    code = (
        "import signal, sys, time, pathlib\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(21))\n"
        "pathlib.Path(sys.argv[1]).touch()\n"
        "time.sleep(600)\n"
    )
    process, folder = foreground("detach", sys.executable, "-c", code, pids / "ready")
    until((pids / "ready").exists, "the handler")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 21
    assert status(folder).state == "stopped"


def test_a_second_int_hurries(foreground, pids):
    process, folder = foreground("stop", sys.executable, PROGRAMS / "family.py", "deaf", pids)
    members(pids)
    process.send_signal(signal.SIGINT)
    until(lambda: status(folder).state == "stopping", "the stop")
    process.send_signal(signal.SIGINT)
    # the graces of programs/foreground.py are 10 s each: the second one skips INT's
    until(lambda: '"terminate"' in (folder.path / "heartbeat").read_text(), "TERM", deadline=5)
    stop.stop(folder, stop.Grace(0, 0))
    assert process.wait(20) == 137


def test_detaching_leaves_the_run_alone(foreground, pids):
    process, folder = foreground("detach", sys.executable, PROGRAMS / "chatter.py", "1", pids / "go")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 99
    assert status(folder).state == "starting"
    (pids / "go").touch()
    assert ended(folder).state == "finished"


def test_going_on_goes_on(foreground, pids):
    process, _ = foreground("go-on", sys.executable, PROGRAMS / "chatter.py", "1", pids / "go")
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == b"asked\n"
    (pids / "go").touch()
    assert process.wait(20) == 0
    assert process.stdout.read().endswith(b"the last line\n")


def test_a_second_int_breaks_off_the_question_and_stops(root):
    script = (
        "import os, signal, sys, time; from pathlib import Path; from prl_tui.runs import launcher\n"
        "def ask(folder):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(600)\n"
        "job = launcher.Job(('sleep', '600'))\n"
        f"print(launcher.run_foreground(Path({str(root)!r}), job, on_interrupt=ask,\n"
        "      on_start=lambda folder: os.kill(os.getpid(), signal.SIGINT))[1])\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
    assert shown.stdout == "130\n"


def test_a_supervisor_that_vanishes_counts_as_killed(root):
    def shoot(folder):
        os.kill(supervisor_of(folder), signal.SIGKILL)

    job = Job((sys.executable, "-c", "import time; time.sleep(600)"))
    folder, code = launcher.run_foreground(root, job, on_start=shoot)
    assert code == 137
    assert status(folder).state == "lost"
    assert stop.stop(folder, stop.Grace(0, 5)).code == "swept"


def test_an_interrupted_foreground_launch_ends_with_130_whatever_the_engine_says(tmp_path):
    """torchrun 2.13 answers SIGINT with exit code 1; here a stand-in that does the same, under the real command."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    engine = bin_ / "torchrun"
    engine.write_text(
        f"#!{sys.executable}\nimport signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(1))\n"
        "print('ready', flush=True)\ntime.sleep(600)\n"
    )
    engine.chmod(0o755)
    env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "prl_tui", "launch", "demo", "--foreground", "--set", "training_env="]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env
    )
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_a_foreground_launch_is_its_code_where_torchrun_says_1(tmp_path, number, code):
    """torchrun of torch 2.13, two ranks of the demo: it ends with 1 for either signal."""
    command = [sys.executable, "-m", "prl_tui", "launch", "demo", "--foreground", "--no-probe"]
    sets = {"training_env": "this", "max_steps": 100000, "output_dir": tmp_path / "out"}
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    process = subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    for line in process.stdout:
        if b"'loss'" in line:
            break
    process.send_signal(number)
    said, narration = process.communicate(timeout=90)
    assert process.returncode == code, narration.decode() + said.decode()[-2000:]
    folder = RunFolder(Path(narration.decode().split(" in ")[1].splitlines()[0]))
    assert (status(folder).state, status(folder).exit_code) == ("stopped", 1)
    assert "first cause" not in narration.decode()


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("smoke", [False, True])
def test_a_failed_foreground_launch_shows_the_first_cause_and_where_it_stands(tmp_path, smoke):
    """torchrun of torch 2.13: rank 1 raises, rank 0 is its victim."""
    command = [sys.executable, "-m", "prl_tui", "launch", "demo", "--foreground", "--no-probe"]
    sets = {"training_env": "this", "output_dir": tmp_path / "out", "fail_rank": 1, "fail_step": 1}
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    words += ["--smoke", "2"] if smoke else []
    ran = subprocess.run([*command, *words, "--json"], capture_output=True, text=True, timeout=90)
    assert ran.returncode == 1
    told = json.loads(ran.stdout)
    assert (told["state"], told["code"], told["cause"]["rank"]) == ("failed", 1, 1)
    lines = told["cause"]["lines"]
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == told["cause"]["text"]
    file = Path(told["cause"]["file"])
    assert "/ranks/" in str(file)
    assert file.read_text().splitlines()[told["cause"]["line"] - 1].endswith(lines[-1])
    assert f"✗ the first cause: rank 1: {lines[-1]}" in ran.stderr
    assert f"  │ {lines[-1]}" in ran.stderr
    assert f"the whole log: {file}, line {told['cause']['line']}" in ran.stderr
    assert f"see: prl-tui logs {told['id']} --rank 1" in ran.stderr
    assert ("smoke test failed: exit code 1" in ran.stderr) == smoke


def test_a_failure_without_an_exception_shows_the_last_lines(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('one'); print('two\\n'); raise SystemExit(3)")
    words = ["--set", "training_env=this", "--foreground", "--no-probe"]
    ran = subprocess.run(
        [sys.executable, "-m", "prl_tui", "launch", "custom/python", *words], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (3, "one\ntwo\n\n")
    assert "first cause" not in ran.stderr
    assert "✗ failed after 0 s, exit code 3\n  the last lines of its log:\n  │ one\n  │ two\n" in ran.stderr
    assert "output.log, line 2" in ran.stderr


@pytest.mark.parametrize(
    ("language", "end"),
    [("en", "✗ failed after 0 s, exit code 5\n  it wrote nothing\n"), ("zh", "退出码 5\n  没有任何输出\n")],
)
def test_a_foreground_launch_that_says_nothing_says_that_it_failed(tmp_path, language, end):
    (tmp_path / "train.py").write_text("import os; os._exit(5)")
    words = ["--set", "training_env=this", "--foreground", "--no-probe", "--lang", language]
    command = [sys.executable, "-m", "prl_tui", "launch", "custom/python", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (5, "")
    assert ran.stderr.endswith(end), ran.stderr


def test_a_foreground_launch_that_went_well_says_so_too(tmp_path):
    (tmp_path / "train.py").write_text("print('done')")
    words = ["--set", "training_env=this", "--foreground", "--no-probe"]
    command = [sys.executable, "-m", "prl_tui", "launch", "custom/python", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "done\n")
    assert ran.stderr.endswith("✓ finished after 0 s, exit code 0\n"), ran.stderr
