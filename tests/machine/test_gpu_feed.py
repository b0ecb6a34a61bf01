"""The feed answers and stops at once, whatever the driver and its child do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from prl_tui.machine import gpu_feed
from prl_tui.machine.gpu_feed import GpuFeed


def wait_for(condition, what, seconds=20.0):
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.01)
    return found


def gone(pid):
    """Whether a process has ended; one that nobody reaped is dead as well."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def feed(nvml_stub, monkeypatch):
    monkeypatch.setattr(gpu_feed, "FIRST_PAUSE", 0.05)
    made = []

    def make(**settings):
        made.append(GpuFeed(0.05, environment=nvml_stub.environment(), **settings))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


def test_snapshots_arrive_and_carry_their_age(feed):
    gpus = feed()
    reading = wait_for(lambda: (r := gpus.latest()).snapshot and r, "a snapshot")
    assert len(reading.snapshot.gpus) == 8
    assert 0 <= reading.age < 5
    assert (reading.stale, reading.problem) == (False, None)
    first = reading.snapshot.time
    wait_for(lambda: gpus.latest().snapshot.time > first, "a newer snapshot")


def test_before_the_first_snapshot_it_says_how_long_it_waits(nvml_stub, feed):
    nvml_stub.set("* init_ms 20000")
    gpus = feed()
    reading = wait_for(lambda: (r := gpus.latest()).waited > 0.2 and r, "some waiting")
    assert (reading.snapshot, reading.age, reading.problem) == (None, None, None)


def test_a_hung_driver_neither_blocks_answers_nor_the_stop_and_its_child_is_killed(nvml_stub, feed):
    gpus = feed()
    wait_for(lambda: gpus.latest().snapshot, "a snapshot")
    pid = gpus.child_pid
    nvml_stub.set("0 slow_ms 20000")
    wait_for(lambda: gpus.latest().age > 0.5, "silence")
    begun = time.monotonic()
    readings = [gpus.latest() for _ in range(1000)]
    assert time.monotonic() - begun < 1
    assert len(readings[-1].snapshot.gpus) == 8
    assert readings[-1].age > 0.5
    begun = time.monotonic()
    gpus.stop()
    assert time.monotonic() - begun < 1
    wait_for(lambda: gone(pid), "the child's end", 5)
    assert len(gpus.latest().snapshot.gpus) == 8


def test_a_hung_child_is_replaced_and_the_screen_is_told_meanwhile(nvml_stub, feed):
    gpus = feed(hang_after=0.5)
    wait_for(lambda: gpus.latest().snapshot, "a snapshot")
    hung = gpus.child_pid
    nvml_stub.set("0 slow_ms 20000")
    reading = wait_for(lambda: (r := gpus.latest()).fault and r, "the fault")
    assert reading.stale
    assert "has not answered" in reading.problem
    wait_for(lambda: gone(hung), "the hung child's end", 5)
    nvml_stub.set()
    reading = wait_for(lambda: (r := gpus.latest()).fault is None and r, "a new child's answer")
    assert reading.restarts >= 1
    assert gpus.child_pid != hung


def test_a_child_that_is_killed_is_replaced(feed):
    gpus = feed()
    wait_for(lambda: gpus.latest().snapshot, "a snapshot")
    first = gpus.child_pid
    os.kill(first, signal.SIGKILL)
    reading = wait_for(lambda: (r := gpus.latest()).fault and r, "the fault")
    assert "SIGKILL" in reading.problem
    wait_for(lambda: gpus.latest().fault is None, "a new child's answer")
    assert gpus.child_pid not in (None, first)


def test_a_gpu_lost_during_the_run_stays_a_row(nvml_stub, feed):  # case M03
    nvml_stub.set("* count 4")
    gpus = feed()
    wait_for(lambda: gpus.latest().snapshot, "a snapshot")
    nvml_stub.set("* count 4", "2 refuse 15")
    lost = wait_for(
        lambda: next((gpu for gpu in gpus.latest().snapshot.gpus if gpu.state == "lost"), None), "the lost GPU"
    )
    assert (lost.index, lost.name) == (2, "NVIDIA H100 80GB HBM3")
    assert [gpu.state for gpu in gpus.latest().snapshot.gpus] == ["ok", "ok", "lost", "ok"]


def test_no_driver_is_the_sentence_and_no_hang(nvml_stub):
    gpus = GpuFeed(0.05, environment=nvml_stub.without_library())
    gpus.start()
    reading = wait_for(lambda: (r := gpus.latest()).snapshot and r, "a snapshot")
    gpus.stop()
    assert reading.snapshot.gpus == ()
    assert "libnvidia-ml.so.1" in reading.problem
    assert not reading.stale


def test_it_can_be_started_again_after_a_stop(feed):
    gpus = feed()
    gpus.start()
    wait_for(lambda: gpus.latest().snapshot, "a snapshot")
    gpus.stop()
    before = gpus.latest().snapshot.time
    gpus.stop()
    gpus.start()
    wait_for(lambda: gpus.latest().snapshot.time > before, "a newer snapshot")


def test_a_stop_right_after_the_start_leaves_no_child(nvml_stub):
    us = psutil.Process()
    for _ in range(5):
        gpus = GpuFeed(0.05, environment=nvml_stub.environment())
        gpus.start()
        gpus.stop()
    wait_for(lambda: all(gone(child.pid) for child in us.children()), "the children's end", 30)


class StuckChild:
    """A child inside the driver that no signal ends; it can be let go."""

    pid = 1
    released = False

    def read(self, seconds, wake=None):
        return []

    def kill(self):
        pass

    def end(self, grace):
        return self.released

    def ended(self):
        return self.released


def test_children_that_cannot_be_killed_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(gpu_feed, "LONGEST_PAUSE", 0.01)
    children = []

    def spawn(feed):
        children.append(StuckChild())
        return children[-1]

    monkeypatch.setattr(GpuFeed, "_spawn", spawn)
    gpus = GpuFeed(0.05)
    gpus.start()
    wait_for(lambda: gpus.latest().restarts > 20, "some attempts")
    assert len(children) == 3
    assert "has not answered" in gpus.latest().problem
    children[0].released = True
    wait_for(lambda: len(children) == 4, "another attempt once one has gone")
    gpus.stop()


def test_a_hung_driver_does_not_hold_up_the_interpreters_exit(nvml_stub):
    nvml_stub.set("0 slow_ms 20000")
    program = "from prl_tui.machine.gpu_feed import GpuFeed\nf = GpuFeed(); f.start()\nwhile not f.child_pid: pass\n"
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", program], env=nvml_stub.environment(), check=True, timeout=15)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("hung", [False, True])
def test_the_sampler_dies_with_its_parent(nvml_stub, tmp_path, hung):
    if hung:
        nvml_stub.set("* trace 1", "0 slow_ms 20000")
    note = tmp_path / "child"
    program = (
        "import sys, time; from pathlib import Path; from prl_tui.machine.gpu_feed import GpuFeed\n"
        "f = GpuFeed(0.05); f.start()\n"
        "while not f.child_pid: pass\n"
        "new = Path(sys.argv[1] + '.new'); new.write_text(str(f.child_pid)); new.rename(sys.argv[1])\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(note)], env=nvml_stub.environment()) as parent:
        pid = int(wait_for(lambda: note.exists() and note.read_text(), "the child's pid"))
        if hung:  # in the driver call, where no closed pipe is noticed
            wait_for(nvml_stub.calls, "the sampler's first call of the driver")
        parent.kill()
    wait_for(lambda: gone(pid), "the sampler's end", 10)
