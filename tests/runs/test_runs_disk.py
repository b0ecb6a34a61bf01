"""A full disk costs output and time, never the run, and is written down. Needs root, to mount a small disk."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios

import pytest

from prl_tui.runs import guardian, launcher, store, sweep
from prl_tui.runs import stop as stopping
from prl_tui.runs.folder import RunFolder, read_ended
from prl_tui.runs.launcher import Job, LaunchError
from prl_tui.runs.logpump import LogPump, open_log
from prl_tui.runs.overview import overview
from prl_tui.runs.signals import STOP_SIGNALS
from prl_tui.runs.state import status
from prl_tui.tui.run_words import health
from tests import odd_program
from tests.runs.helpers import (
    PROGRAMS,
    ended,
    exit_record,
    folders_in,
    is_idle,
    is_living,
    marked,
    nothing_left,
    supervisor_of,
    until,
)

SIZE = 512 * 1024


@pytest.fixture
def small(tmp_path):
    """A disk of half a mebibyte."""
    path = tmp_path / "small"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", path], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield path
        nothing_left(path)
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    """Take all the room that is left."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (65536, 4096, 1):
            while True:
                os.write(descriptor, b"x" * size)
    except OSError as problem:
        if problem.errno != errno.ENOSPC:
            raise
    finally:
        os.close(descriptor)


def test_output_that_does_not_fit_is_dropped_counted_and_marked(small, pids):
    ballast = small / "ballast"
    ballast.write_bytes(b"x" * 65536)
    lines, size = 20_000, 100
    words = (sys.executable, str(PROGRAMS / "chatter.py"), str(lines), str(pids / "go"))
    folder = launcher.start(small / "runs", Job(words))
    until(lambda: "bytes of output are missing" in status(folder).detail, "the word about it")
    until((pids / "go.said").exists, "all lines")
    until(lambda: is_idle(folder), "the pump to have them all")
    ballast.unlink()
    (pids / "go").touch()
    seen = ended(folder)
    assert (seen.state, seen.exit_code) == ("finished", 0)
    dropped = exit_record(folder).dropped
    log = folder.output.read_bytes()
    note = b"bytes of output were dropped here: No space left on device\n"
    assert log.count(note) == 1
    assert f"[prl-tui] {dropped} bytes".encode() in log
    assert log.endswith(b"the last line\n")
    whole = lines * size + len(b"the last line\n")
    note_size = len(f"\n[prl-tui] {dropped} ".encode() + note)
    assert len(log) - note_size + dropped == whole


def test_the_exit_record_waits_for_room_and_nobody_reads_the_run_as_lost(small, pids):
    words = (sys.executable, str(PROGRAMS / "chatter.py"), "1", str(pids / "go"))
    folder = launcher.start(small / "runs", Job(words))
    until(lambda: (folder.path / "heartbeat").exists() and folder.output.stat().st_size, "its first line")
    fill(small / "ballast")
    leader = status(folder).pid
    (pids / "go").touch()
    until(lambda: not is_living(leader), "its end")
    supervisor = supervisor_of(folder)
    until(lambda: status(folder).unwritten, "the word about it")
    assert is_living(supervisor)
    (small / "ballast").unlink()
    assert ended(folder).state == "finished"
    until(lambda: not is_living(supervisor), "the supervisor's end")
    assert json.loads((folder.path / "exit.json").read_text())["exit_code"] == 0


def test_a_run_cannot_start_on_a_full_disk_and_says_why(small):
    (small / "runs").mkdir()
    fill(small / "ballast")
    with pytest.raises(LaunchError, match="No space left on device"):
        launcher.start(small / "runs", Job(("true",)))
    assert folders_in(small / "runs") == [], "no run of which nobody knows anything"


def test_a_disk_without_inodes_is_named_as_such(small):
    subprocess.run(["mount", "-o", "remount,nr_inodes=3", small], check=True)
    for n in range(2):
        (small / f"{n}").touch()
    with pytest.raises(launcher.LaunchError) as caught:
        launcher.start(small / "runs", launcher.Job(("true",)))
    assert "No space left on device. No inodes are left there" in caught.value.sentence
    assert "KiB" not in caught.value.sentence


def test_a_launch_that_gets_no_further_than_its_folder_leaves_none(tmp_path, monkeypatch):
    """The disk fills up between the run's own record and its first log: no lock file can be made."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "lock")

    monkeypatch.setattr(launcher.spawn, "_take", full)
    with pytest.raises(LaunchError, match="No space left on device"):
        launcher.start(tmp_path, Job(("true",)))
    assert folders_in(tmp_path) == []


def test_a_program_that_does_not_exist_leaves_a_run_that_says_so(tmp_path):
    with pytest.raises(LaunchError) as raised:
        launcher.start(tmp_path, Job(("no-such-program-anywhere",)))
    assert raised.value.folder is not None
    assert exit_record(raised.value.folder).exit_code == 127


def test_a_pump_loses_no_byte_while_there_is_room(tmp_path):
    pump = LogPump(open_log(tmp_path / "log"))
    for number in range(100):
        pump.put(b"%d\n" % number)
    pump.close()
    assert (tmp_path / "log").read_text().split() == [str(number) for number in range(100)]
    assert pump.dropped == 0


@pytest.mark.parametrize("kernel", ["splices", "refuses", "python without splice"])
def test_a_pump_moves_what_a_pipe_has_whatever_the_kernel_offers(tmp_path, monkeypatch, kernel):
    """The refusal is that of a real file: splice into one that is opened for appending is EINVAL."""
    log = open_log(tmp_path / "log")
    if kernel == "refuses":
        fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
    elif kernel == "python without splice":
        monkeypatch.delattr(os, "splice")
    pump = LogPump(log)
    reading, writing = os.pipe()
    for number in range(5):
        os.write(writing, b"%d\n" % number * 3000)
        while is_waiting(reading):
            pump.move(reading)
    os.close(writing)
    assert pump.move(reading) == 0
    pump.close()
    os.close(reading)
    assert (tmp_path / "log").read_bytes() == b"".join(b"%d\n" % number * 3000 for number in range(5))
    assert pump.dropped == 0


def is_waiting(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_pump_marks_a_loss_at_the_very_end_when_room_comes_back(small):
    pump = LogPump(open_log(small / "log"))
    fill(small / "ballast")
    pump.put(b"a" * 10_000)
    (small / "ballast").unlink()
    pump.close()
    text = (small / "log").read_bytes()
    assert f"[prl-tui] {pump.dropped} bytes of output were dropped".encode() in text
    assert pump.dropped + text.count(b"a", 0, text.index(b"[prl-tui]")) == 10_000


NEEDED_WORDS = "64 KiB are needed there: make room, or set XDG_STATE_HOME to a folder on another disk"


def cli(state, *words, **more):
    """The command line as a process of its own, its state on another disk."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "PRL_TUI_LANG": "en"}
    return subprocess.Popen([sys.executable, "-m", "prl_tui", *words], env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)  # fmt: skip


@pytest.fixture
def recipe_of(tmp_path, monkeypatch):
    """A recipe of a person's own that runs a program in the working directory."""
    config = tmp_path / "config"
    (config / "prl-tui/recipes").mkdir(parents=True)
    (config / "prl-tui/recipes/odd.toml").write_text(odd_program.recipe())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def make(program):
        work = tmp_path / "work"
        work.mkdir()
        (work / "train.py").write_text(program)
        return work

    return make


@pytest.mark.slow
@pytest.mark.parametrize("size", [4, 8, 16, 64])
@pytest.mark.parametrize("way", ["--foreground", "--detach"])
def test_a_launch_onto_a_disk_too_small_is_one_sentence_and_leaves_nothing(small, recipe_of, size, way):
    work = recipe_of("print('step')\n")
    subprocess.run(["mount", "-o", f"remount,size={size}k", small], check=True)
    process = cli(small, "launch", "odd/one", way, "--no-probe", cwd=work)
    out, told = process.communicate(timeout=60)
    assert process.returncode == 4, told
    assert out == ""
    assert told.splitlines()[-1] == (
        f"prl-tui: {small}/prl-tui/runs has no room for a run: No space left on device. {NEEDED_WORDS}"
    )
    assert "run ID" not in told
    left = [path for path in (small / "prl-tui").rglob("*") if path.is_file()]
    assert [path for path in left if path.name not in {"lock", ".newest"}] == [], "no run, no claim"
    nothing_left(small)


def test_a_run_whose_state_cannot_be_written_does_not_begin(small, pids, monkeypatch):
    """The disk fills up between the launcher's look and the supervisor's first words."""
    real = launcher.spawn._start

    def late(*arguments):
        fill(small / "ballast")
        return real(*arguments)

    monkeypatch.setattr(launcher.spawn, "_start", late)
    job = Job((sys.executable, "-c", f"import time; open({str(pids / 'went')!r}, 'w'); time.sleep(60)"))
    with pytest.raises(LaunchError, match="has no room for a run: No space left on device"):
        launcher.start(small / "runs", job)
    assert folders_in(small / "runs") == []
    assert marked(small) == []


def test_an_end_that_cannot_be_written_down_is_known_once_a_signal_ends_the_wait_for_room(small, pids):
    words = (sys.executable, str(PROGRAMS / "chatter.py"), "1", str(pids / "go"))
    folder = launcher.start(small / "runs", Job(words))
    until(lambda: folder.output.stat().st_size, "its first line")
    fill(small / "ballast")
    (pids / "go").touch()
    until(lambda: "is not written down: No space left on device" in status(folder).unwritten, "the word about it")
    supervisor = supervisor_of(folder)
    os.kill(supervisor, signal.SIGTERM)
    until(lambda: not is_living(supervisor), "its end", 3)
    assert (status(folder).state, status(folder).exit_code) == ("finished", 0)
    assert not (folder.path / "exit.json").exists()


@pytest.fixture
def unwritten(small, pids):
    """A run that failed with 7 on a disk that stays full; its supervisor waits for room."""
    program = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\nsys.exit(7)\n"
    folder = launcher.start(small / "prl-tui/runs", Job((sys.executable, "-c", program, str(pids / "go"))))
    until((folder.path / "heartbeat").exists, "its first heartbeat")
    fill(small / "ballast")
    (pids / "go").touch()
    until(lambda: status(folder).state == "failed", "its end")
    yield folder
    stopping.stop(folder)


@pytest.mark.slow
def test_every_command_tells_an_unwritten_end_at_once(small, unwritten):
    told = "Its end is not written down: No space left on device"
    for words in (["--plain"], ["--exit-on", "finished"], ["--json"]):
        process = cli(small, "watch", "last", *words)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 7, words
        assert told in out, words
    listed, _ = cli(small, "runs").communicate(timeout=30)
    assert "failed" in listed
    assert f"exit code 7 · {told}" in listed
    (seen,) = json.loads(cli(small, "runs", "--json").communicate(timeout=30)[0])
    assert (seen["state"], seen["exit_code"]) == ("failed", 7)
    assert is_living(supervisor_of(unwritten)), "nobody who looks ends the wait for room"
    out, _ = cli(small, "stop", "last").communicate(timeout=30)
    assert "had ended before" in out
    assert not is_living(supervisor_of(unwritten))
    assert (status(unwritten).state, status(unwritten).exit_code) == ("failed", 7)


def test_a_screen_says_that_an_end_is_not_written_down(unwritten):
    text, tone = health(overview(unwritten))
    assert text.startswith("✗ exit code 7")
    assert "Its end is not written down: No space left on device" in text
    assert tone == "bad"


def test_a_run_whose_end_is_not_written_down_can_be_deleted_and_its_supervisor_leaves(unwritten):
    supervisor = supervisor_of(unwritten)
    assert sweep.find(unwritten.path.parent) == []
    assert store.why_kept(unwritten) is None
    assert store.remove(unwritten) is None
    assert not is_living(supervisor)
    assert folders_in(unwritten.path.parent) == []


def test_a_wait_for_room_ends_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(guardian, "_RETRY_FOR", 0.2)
    monkeypatch.setattr(guardian, "_RETRY_EVERY", 0.05)
    before = {number: signal.getsignal(number) for number in (*STOP_SIGNALS, signal.SIGCHLD, signal.SIGHUP)}
    try:
        run = guardian.Guardian(tmp_path, ["true"], dict(os.environ), "/")
        run._write_heartbeat()
        run.wait_status = 7 << 8
        (tmp_path / "exit.json").mkdir()
        run.record_exit()
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
    (tmp_path / "exit.json").rmdir()
    assert read_ended(RunFolder(tmp_path)).exit_code == 7


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0, 1, 3])
def test_a_disk_that_fills_up_later_costs_a_foreground_launch_neither_its_end_nor_its_code(
    small, recipe_of, tmp_path, moment
):
    work = recipe_of(
        "import os, sys, time\n"
        "for step in range(4):\n"
        "    print('x' * 5000, flush=True)\n"
        "    open(f'step{step}', 'w').close()\n"
        "    while not os.path.exists(f'go{step}'): time.sleep(0.01)\n"
        "sys.exit(7)\n"
    )
    process = cli(small, "launch", "odd/one", "--foreground", "--no-probe", cwd=work)
    for step in range(4):
        until((work / f"step{step}").exists, f"step {step}")
        if step == moment:
            fill(small / "ballast")
        (work / f"go{step}").touch()
    out, told = process.communicate(timeout=60)
    assert process.returncode == 7, told
    assert "The end of the run is not written down in" in told
    assert "No space left on device" in told
    folder = launcher.store.list_runs(small / "prl-tui/runs")[0]
    assert (status(folder).state, status(folder).exit_code) == ("failed", 7)
    assert out.count("x") + read_ended(folder).dropped >= 4 * 5001 - 4
