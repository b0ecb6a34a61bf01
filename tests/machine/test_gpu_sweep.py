"""Each state of a box's GPUs, through the real nvidia-ml-py on the stub library, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from prl_tui.machine import gpu_json
from prl_tui.machine.gpu_feed import once
from prl_tui.machine.gpus import VALUES, Gpu, GpuSnapshot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.nvml_stub.plugin import NvmlStub

GIB = 1 << 30


def sweep(stub: NvmlStub, *state: str) -> GpuSnapshot:
    stub.set(*state)
    return once(60, stub.environment())


def test_an_idle_h100_reads_as_a_real_one_was_recorded(nvml_stub):
    # Values of an idle H100 as nvidia-ml-py 13 read them (driver 580.159.04, memory without its v2 structure).
    snapshot = sweep(nvml_stub, "* count 2")
    assert (snapshot.driver, snapshot.cuda, snapshot.problem) == ("580.159.04", "13.0", None)
    assert [gpu.index for gpu in snapshot.gpus] == [0, 1]
    first = snapshot.gpus[0]
    assert first.name == "NVIDIA H100 80GB HBM3"
    # nvidia-smi counts the driver's share apart: an idle card uses nothing (two H200s, driver 580.159.04, agreed
    # within its rounding in 230 of 230 moments of a training).
    assert (first.memory_used, first.memory_reserved, first.memory_total) == (0, 503316480, 85520809984)
    assert first.memory_free == 85520809984 - 503316480
    assert (first.power, first.power_limit, first.temperature) == (73.0, 700.0, 37)
    assert (first.sm_clock, first.memory_clock, first.clock_reasons) == (345, 2619, ("idle",))
    assert (first.utilization, first.mig, first.processes, first.busy) == (0, False, (), False)
    assert first.compute_capability == "9.0"
    assert dict(first.missing) == {}


def test_every_unknown_value_has_its_reason_and_no_unknown_value_is_zero(nvml_stub):
    snapshot = sweep(
        nvml_stub,
        "0 lost 1",
        "1 refuse 4",
        "2 deny util",
        "2 deny power 999",
        "3 mig 2",
        "4 deny mem",
        "4 deny procs 4",
        "5 refuse 15",
        *(f"6 deny {what}" for what in ("name", "pci", "cc", "limit", "temp", "temp_v", "clock", "reasons", "mig")),
        "7 util 4294967295",
    )
    assert len(snapshot.gpus) == 8
    for gpu in snapshot.gpus:
        unknown = {name for name in VALUES if getattr(gpu, name) is None}
        assert unknown == set(gpu.missing), gpu.index
    by_index = {gpu.index: gpu for gpu in snapshot.gpus}
    assert by_index[2].missing == {"utilization": "not-supported", "power": "unknown-error"}
    assert by_index[4].missing["processes"] == "no-permission"
    assert by_index[4].busy is None
    assert by_index[6].missing["temperature"] == "not-supported"
    assert by_index[7].missing == {"utilization": "implausible"}
    assert all(reason and "-" not in reason for reason in gpu_json.reasons(by_index[2]).values())


def test_one_gpu_of_four_lost_leaves_three_shown(nvml_stub):  # case M03
    snapshot = sweep(nvml_stub, "* count 4", "2 lost 1")
    assert [gpu.state for gpu in snapshot.gpus] == ["ok", "ok", "lost", "ok"]
    lost = snapshot.gpus[2]
    assert lost.problem is not None
    assert lost.problem.startswith("GPU 2 is lost")
    assert lost.utilization is lost.memory_used is lost.processes is lost.busy is None
    assert snapshot.problem is None


@pytest.mark.parametrize(("code", "state"), [(15, "lost"), (4, "denied"), (999, "error"), (16, "error")])
def test_a_gpu_whose_handle_is_refused_is_a_row_with_a_state(nvml_stub, code, state):
    snapshot = sweep(nvml_stub, "* count 2", f"1 refuse {code}")
    assert [gpu.state for gpu in snapshot.gpus] == ["ok", state]
    assert snapshot.gpus[1].problem is not None
    assert "GPU 1" in snapshot.gpus[1].problem


def test_mig_slices_are_slices_and_not_gpus(nvml_stub):  # case M02: two GPUs, three slices
    snapshot = sweep(nvml_stub, "* count 2", "0 mig 2", "1 mig 1")
    assert len(snapshot.gpus) == 2
    slices = [found for gpu in snapshot.gpus for found in gpu.mig_instances]
    assert len(slices) == 3
    assert len({found.uuid for found in slices}) == 3
    assert all(str(found.uuid).startswith("MIG-") for found in slices)
    assert [(found.slot, found.instance) for found in snapshot.gpus[0].mig_instances] == [(0, 7), (1, 8)]
    assert (slices[0].memory_used, slices[0].memory_total) == (0, 10 * GIB)


def test_utilisation_under_mig_is_unknown_and_not_a_flat_zero(nvml_stub):  # case M07
    first = sweep(nvml_stub, "0 mig 1").gpus[0]
    assert first.utilization is None
    assert first.missing == {"utilization": "mig"}


def test_a_process_has_user_program_and_start_but_never_its_arguments(nvml_stub, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys; sys.stdin.read()")
    begun = time.time()
    command = [sys.executable, str(script), "--hub_token", "hf_secret"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as job:
        gpu = sweep(nvml_stub, f"0 pid {job.pid} 1716").gpus[0]
        assert job.stdin is not None
        job.stdin.close()
    (process,) = gpu.processes or ()
    assert (process.pid, process.kind, process.memory_used) == (job.pid, "compute", 1716 << 20)
    assert process.command is not None
    assert process.command.endswith(" train.py")
    assert process.user
    assert process.started is not None
    assert abs(process.started - begun) < 30
    assert process.visible
    assert gpu.busy is True


def test_processes_that_cannot_be_seen_from_here_are_kept_with_the_reason(nvml_stub):
    # 4294967295 is the driver's "no number"; 2^64-1 bytes its "not available". A current monitor dies of the first.
    gpu = sweep(nvml_stub, "0 pid 4294967295", "0 pid 4194304 18446744073709551615", "0 pid 0").gpus[0]
    unnamed, foreign, zero = gpu.processes or ()
    assert (unnamed.pid, unnamed.visible, unnamed.user) == (None, False, None)
    assert unnamed.missing["pid"] == "not-visible"
    assert (foreign.pid, foreign.visible, foreign.memory_used) == (4194304, False, None)
    assert foreign.missing["memory_used"] == "not-supported"
    assert zero.pid is None
    assert gpu.busy is True


def test_a_gpu_is_busy_by_its_memory_where_no_process_is_listed(nvml_stub):
    snapshot = sweep(
        nvml_stub, "0 mem 20", "1 mem 600", "2 mem 60000", "3 mem 200", "3 deny mem2 13", "4 mem 900", "4 deny mem2 13"
    )
    assert [gpu.busy for gpu in snapshot.gpus[:5]] == [False, True, True, False, True]
    old = snapshot.gpus[3]
    assert old.memory_used == (480 + 200) << 20
    assert old.missing == {"memory_reserved": "driver-too-old"}


def test_clock_reasons_are_words_and_only_trouble_counts_as_slowed(nvml_stub):
    snapshot = sweep(nvml_stub, "0 reasons 0x4", "1 reasons 0x48", "2 reasons 0x0")
    assert snapshot.gpus[0].clock_reasons == ("power-cap",)
    assert snapshot.gpus[0].slowed == ()
    assert snapshot.gpus[1].slowed == ("hw-slowdown", "hw-thermal")
    assert snapshot.gpus[2].clock_reasons == ()


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ("* init 9", "driver-not-loaded", "kernel driver is not loaded"),
        ("* init 18", "version-mismatch", "different versions"),
        ("* init 4", "no-permission", "/dev/nvidia"),
        ("* init 999", "unknown-error", "unknown error"),
        ("* init 15", "lost", "fallen off the bus"),
        ("* init 77", "other", "only the driver knows"),
        ("* listing 999", "unknown-error", "unknown error"),
        ("* count 0", "no-gpus", "no GPU"),
    ],
)
def test_a_driver_that_refuses_gives_one_clear_sentence(nvml_stub, state, code, words):
    snapshot = sweep(nvml_stub, state)
    assert snapshot.gpus == ()
    assert snapshot.fault is not None
    assert snapshot.fault.code == code
    assert words in str(snapshot.problem)
    assert "\n" not in str(snapshot.problem)


def test_no_library_is_told_apart_from_a_broken_driver(nvml_stub):
    snapshot = once(60, nvml_stub.without_library())
    assert snapshot.fault is not None
    assert snapshot.fault.code in ("no-driver", "library-missing", "wsl")
    assert "libnvidia-ml.so.1" in str(snapshot.problem)


def test_pcie_throughput_is_never_asked_for(nvml_stub):
    sweep(nvml_stub, "* trace 1")
    calls = nvml_stub.calls()
    assert "nvmlDeviceGetUtilizationRates" in calls
    assert "nvmlDeviceGetPcieThroughput" not in calls


def test_another_module_named_pynvml_is_named_with_its_path(nvml_stub, tmp_path):
    package = tmp_path / "old" / "pynvml"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def nvmlInit(): pass\nclass NVMLError(Exception): pass\n")
    snapshot = once(60, nvml_stub.environment(PYTHONPATH=str(package.parent)))
    assert snapshot.fault is not None
    assert snapshot.fault.code == "binding-shadowed"
    assert str(package) in str(snapshot.problem)


def test_modules_in_the_working_directory_are_not_mistaken_for_libraries(nvml_stub, tmp_path, monkeypatch):
    for name in ("pynvml", "json", "select", "argparse"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the training folder was imported')\n")
    monkeypatch.chdir(tmp_path)
    assert len(once(60, nvml_stub.environment()).gpus) == 8


def test_a_snapshot_survives_json_both_ways(nvml_stub):
    snapshot = sweep(nvml_stub, "0 lost 1", "1 mig 2", f"2 pid {os.getpid()}", "3 deny util", "4 refuse 4")
    assert gpu_json.from_json(gpu_json.to_json(snapshot)) == snapshot
    broken = sweep(nvml_stub, "* init 18")
    assert gpu_json.from_json(gpu_json.to_json(broken)) == broken
    value = gpu_json.to_json(snapshot)["gpus"][3]  # type: ignore[index]
    assert value["utilization"] is None
    assert value["missing"] == {"utilization": "not-supported"}


@pytest.mark.parametrize(
    "value", [{}, {"time": 1}, {"time": 1, "driver": None, "cuda": None, "problem": 3, "gpus": []}]
)
def test_what_is_no_snapshot_is_a_value_error(value):
    with pytest.raises(ValueError, match="not a GPU snapshot"):
        gpu_json.from_json(value)


def test_a_driver_that_hangs_gives_a_sentence_within_the_deadline(nvml_stub):
    nvml_stub.set("3 slow_ms 20000")
    begun = time.monotonic()
    snapshot = once(1.0, nvml_stub.environment())
    assert time.monotonic() - begun < 5
    assert snapshot.fault is not None
    assert snapshot.fault.code == "hung"
    assert "not answered for 1 s" in str(snapshot.problem)


def test_a_reader_that_dies_says_how(nvml_stub, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('[/INST] broken installation')\n")
    snapshot = once(60, nvml_stub.environment(PYTHONPATH=str(tmp_path)))
    assert snapshot.fault is not None
    assert snapshot.fault.code == "reader-ended"
    assert "exit code 1" in str(snapshot.problem)


def test_version_numbers_are_named_where_the_box_shows_them(tmp_path: Path):
    from prl_tui.machine.nvml_faults import of_library

    class MismatchError(Exception):
        value = 18

    # First line of the file as the 580 open kernel module writes it.
    driver = tmp_path / "proc/driver/nvidia/version"
    driver.parent.mkdir(parents=True)
    driver.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x)\n")
    maps = tmp_path / "proc/self/maps"
    maps.parent.mkdir()
    maps.write_text("7f00-7f01 r-xp 00000000 08:01 1  /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.575.57.08\n")
    sentence = of_library(MismatchError(), tmp_path).sentence
    assert "575.57.08" in sentence
    assert "580.159.04" in sentence


def test_a_missing_library_reads_differently_on_wsl_and_in_a_container(tmp_path: Path):
    from prl_tui.machine.nvml_faults import of_library

    class NotFoundError(Exception):
        value = 12

    version = tmp_path / "proc/version"
    version.parent.mkdir()
    version.write_text("Linux version 6.8.0-generic")
    assert of_library(NotFoundError(), tmp_path).code == "no-driver"
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert of_library(NotFoundError(), tmp_path).code == "library-missing"
    version.write_text("Linux version 5.15.153.1-microsoft-standard-WSL2")
    assert of_library(NotFoundError(), tmp_path).code == "wsl"


def test_a_gpu_that_vanishes_from_the_list_is_shown_as_lost():
    from prl_tui.machine.gpus import keep_lost

    four = GpuSnapshot(1.0, tuple(Gpu(i, uuid=f"GPU-{i}", name="H100") for i in range(4)))
    # After a new start the driver lists the three others, renumbered.
    three = GpuSnapshot(2.0, tuple(Gpu(i, uuid=f"GPU-{n}", name="H100") for i, n in enumerate((0, 1, 3))))
    found = keep_lost(four, three)
    assert [(gpu.index, gpu.uuid, gpu.state) for gpu in found.gpus] == [
        (0, "GPU-0", "ok"),
        (1, "GPU-1", "ok"),
        (2, "GPU-3", "ok"),
        (2, "GPU-2", "lost"),
    ]
    assert found.gpus[3].name == "H100"
    assert keep_lost(found, three) == GpuSnapshot(2.0, found.gpus)
