"""The recorder of a run's GPUs and host: a real process beside real runs, the real NVML binding on the stub."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prl_tui.machine import child, gpu_faults, paths
from prl_tui.runs import launcher, recorder, stop, store
from prl_tui.telemetry import gpu_history
from tests.runs.helpers import ended, is_living, supervisor_of, until

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
UUID = "GPU-00000000-0000-4000-8000-00000000000{}"


@pytest.fixture
def box(nvml_stub, monkeypatch):
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    return nvml_stub


@pytest.fixture
def recording(root, box):
    """A run with a recorder at a chosen interval; both are gone at the end."""
    started = []

    def start(interval=0.1, argv=SLEEP, **more):
        folder = launcher.start(root, launcher.Job(argv, **more))
        command = child.python_argv("prl_tui.runs.recorder", str(folder.path), "--interval", str(interval))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        started.append((folder, process))
        return folder, process

    yield start
    for folder, process in started:
        if folder.path.exists() and stop.stop(folder, stop.Grace(0.1, 0.1)).code == "asked":
            stop.wait(folder, 20)
        process.kill()
        process.wait()


def rows(folder):
    return list(gpu_history.read(folder.path / gpu_history.FILE))


def test_it_records_the_runs_own_gpus_and_the_host_and_ends_with_the_run(recording, box):
    box.set("3 util 97", "3 mem 70000", "3 power 650")
    folder, process = recording(gpus={UUID.format(3): 3, UUID.format(5): 5})
    until(lambda: len([one for _, one in rows(folder) if one.gpus]) >= 3, "three rows")
    header, last = rows(folder)[-1]
    assert [(index, uuid) for index, uuid, *_ in header.gpus] == [(3, UUID.format(3)), (5, UUID.format(5))]
    assert last.gpus[0][0] == 97
    assert last.gpus[0][2] == 650
    assert last.host[1] > 0
    assert last.host[3] > 0
    assert (folder.path / gpu_history.FILE).stat().st_mode & 0o077 == 0
    stop.stop(folder, stop.Grace(0.1, 0.1))
    assert process.wait(10) == 0


def test_without_a_driver_the_host_is_recorded_and_the_reason(recording, box, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", box.without_library()["LD_LIBRARY_PATH"])
    folder, _ = recording()
    until(lambda: [one for _, one in rows(folder) if one.problem], "a row with the reason")
    assert rows(folder)[-1][1].gpus == ()
    assert rows(folder)[-1][1].host[1] > 0


@pytest.mark.slow
def test_a_driver_that_hangs_blocks_neither_the_host_rows_nor_the_stop_nor_its_own_end(recording, box):
    folder, process = recording()
    until(lambda: [one for _, one in rows(folder) if one.gpus], "a first sweep")
    box.set("* slow_ms 20000")
    until(lambda: rows(folder)[-1][1].problem == "hung", "the rows that say so")
    assert rows(folder)[-1][1].host[1] > 0
    begun = time.monotonic()
    stop.stop(folder, stop.Grace(0.1, 0.1))
    assert stop.wait(folder, 10)
    assert process.wait(5) == 0
    assert time.monotonic() - begun < 5


def test_killed_it_costs_the_run_nothing(recording):
    folder, process = recording()
    until(lambda: rows(folder), "a row")
    process.kill()
    process.wait()
    assert is_living(supervisor_of(folder))
    assert stop.progress(folder)
    stop.stop(folder, stop.Grace(0.1, 0.1))
    assert stop.wait(folder, 20)


def test_it_is_none_of_the_runs_processes(recording):
    folder, process = recording()
    until(lambda: rows(folder), "a row")
    assert process.pid not in {left.pid for left in stop.progress(folder)}


def test_it_goes_on_for_ranks_without_a_supervisor_and_ends_with_them(recording):
    folder, process = recording()
    until(lambda: rows(folder), "a row")
    (left,) = stop.progress(folder)
    os.kill(supervisor_of(folder), signal.SIGKILL)
    count = len(rows(folder))
    until(lambda: len(rows(folder)) >= count + 5, "more rows")
    os.kill(left.pid, signal.SIGKILL)
    assert process.wait(10) == 0


def test_it_ends_when_the_folder_is_deleted(recording):
    folder, process = recording(interval=0.05)
    until(lambda: rows(folder), "a row")
    stop.stop(folder, stop.Grace(0.1, 0.1))
    assert stop.wait(folder, 20)
    assert store.remove(folder) is None, "although it still writes there"
    assert process.wait(10) == 0
    assert not folder.path.exists()


@pytest.mark.slow
def test_it_is_light(recording, box):
    """8 GPUs, each with a process; at most 30 MiB."""
    me = os.getpid()
    box.set(*(f"{n} pid {me} 1000" for n in range(8)))
    folder, process = recording(interval=1.0)
    until(lambda: len([one for _, one in rows(folder) if one.gpus]) >= 3, "three rows")
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (resident,) = [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
    assert resident <= 30 * 1024, f"{resident / 1024:.1f} MiB"


@pytest.mark.slow
def test_a_launch_that_is_recorded_has_its_history(root, box):
    job = launcher.Job((sys.executable, "-c", "import time; time.sleep(4)"), recorded=True, gpus={UUID.format(0): 0})
    folder = launcher.start(root, job)
    ended(folder)
    until(lambda: [one for _, one in rows(folder) if one.gpus], "rows with the GPU")


def test_the_driver_is_hung_only_after_a_while():
    driver = recorder.Driver(1.0)
    assert driver.latest() == (None, "")
    driver._begun -= 4
    assert driver.latest() == (None, "hung")


@pytest.mark.slow
def test_logs_shows_what_the_gpus_did_as_lines_and_as_data(cli, box, monkeypatch):
    root = paths.runs_dir()
    box.set("0 util 98", "0 mem 70000", "0 power 650")
    job = launcher.Job((sys.executable, "-c", "import time; time.sleep(3)"), recorded=True, gpus={UUID.format(0): 0})
    folder = launcher.start(root, job)
    ended(folder)
    until(lambda: [one for _, one in rows(folder) if one.gpus], "rows with the GPU")
    told = cli("logs", folder.id, "--gpus")
    assert told.code == 0
    assert f"GPU 0: NVIDIA H100 80GB HBM3, {UUID.format(0)}" in told.out
    assert "GPU 0   98 %" in told.out
    assert "650 W" in told.out
    one = [json.loads(line) for line in cli("logs", folder.id, "--gpus", "--json").out.splitlines()][-1]
    assert one["gpus"][0]["utilization"] == 98
    assert one["host"]["memory_mib"] > 0
    assert len(cli("logs", folder.id, "--gpus", "--json", "-n", "1").out.splitlines()) == 1
    assert cli("logs", folder.id, "--gpus", "--follow").code == 2
    bare = launcher.start(root, launcher.Job((sys.executable, "-c", "pass")))
    assert cli("logs", bare.id, "--gpus").code == 2
    until(lambda: not [line for line in _recorders() if folder.id in line], "the recorder's end")


def _recorders():
    found = []
    for entry in Path("/proc").iterdir():
        try:
            found += [(entry / "cmdline").read_text()] if entry.name.isdigit() else []
        except OSError:
            continue
    return [line for line in found if "prl_tui.runs.recorder" in line]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "GPUs not read: This box has no NVIDIA driver: libnvidia-ml.so.1 is not found"),
        ("zh", "未读到 GPU：本机没有 NVIDIA 驱动：找不到 libnvidia-ml.so.1"),
    ],
)
def test_logs_says_once_and_in_a_sentence_why_the_gpus_were_not_read(cli, language, sentence):
    folder = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "pass")))
    writer = gpu_history.Writer(folder.path / gpu_history.FILE)
    for n, problem in enumerate(["no-driver", "no-driver", "hung", "no-driver"]):
        writer.add(None, gpu_history.Row(1.0 + n, 1.0, (), (12.0, 1000.0, 1.0, 1000.0), problem))
    told = cli("--lang", language, "logs", folder.id, "--gpus").out.splitlines()
    assert told.count(sentence) == 2
    assert not any(line.endswith(("no-driver", "hung")) for line in told)
    assert len(told) == 4 + 3, "a sentence where the reason changes, then the rows"


def test_every_fault_that_a_row_may_have_is_a_sentence_without_gaps():
    """A row has the code alone; those that `nvml_faults` and the recorder give."""
    codes = {"hung", "binding-shadowed", "reader-ended", *gpu_faults._plain()}
    for code in codes:
        sentence = gpu_faults.GpuFault(code).sentence
        assert " " in sentence
        assert not {"–", code} & set(sentence.split())
