"""The sampler as a command: its lines, its record, and the ways that it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from prl_tui.machine import gpu_json
from prl_tui.machine.child import light_argv, python_argv

SAMPLER = [sys.executable, "-m", "prl_tui.machine.sampler"]


@pytest.fixture
def sampler(nvml_stub):
    started = []

    def start(*arguments, command=SAMPLER, **settings):
        settings = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **settings}
        started.append(subprocess.Popen([*command, *arguments], env=nvml_stub.environment(), **settings))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()
        for pipe in (one.stdin, one.stdout):
            if pipe:
                pipe.close()


def record(path, lines, seconds=20.0):
    until = time.monotonic() + seconds
    while not path.exists() or len(path.read_text().splitlines()) < lines:
        assert time.monotonic() < until, f"fewer than {lines} lines in the record"
        time.sleep(0.01)
    return [json.loads(line) for line in path.read_text().splitlines()[:lines]]


def test_it_prints_one_snapshot_per_line(sampler):
    child = sampler("--interval", "0.05")
    first, second = (gpu_json.from_json(json.loads(child.stdout.readline())) for _ in range(2))
    assert len(first.gpus) == len(second.gpus) == 8
    assert second.time > first.time


def test_once_ends_after_one_line(sampler):
    out, _ = sampler("--once").communicate(timeout=20)
    assert len(out.splitlines()) == 1


def test_it_ends_when_its_input_closes(sampler):
    child = sampler("--interval", "30")
    child.stdout.readline()
    child.stdin.close()
    assert child.wait(10) == 0


def test_it_ends_when_its_reader_goes(sampler):
    child = sampler("--interval", "30")
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(10) == 0


def test_it_goes_on_where_its_input_was_never_open(sampler):
    child = sampler("--interval", "0.05", stdin=subprocess.DEVNULL)
    assert all(child.stdout.readline() for _ in range(3))


def test_it_does_not_start_for_a_parent_that_has_gone(sampler):
    assert sampler("--parent", "1", stdin=subprocess.DEVNULL).wait(10) == 1


def test_a_record_names_the_gpus_once_and_again_when_they_change(sampler, nvml_stub, tmp_path):
    path = tmp_path / "gpus.jsonl"
    nvml_stub.set("* count 2", "0 util 98", "0 power 640", "1 deny util")
    sampler("--interval", "0.05", "--record", str(path), "--quiet", stdout=subprocess.DEVNULL)
    header, first, second = record(path, 3)
    assert header["columns"] == ["index", "utilization", "memory_used", "power", "temperature", "sm_clock"]
    assert [gpu["name"] for gpu in header["gpus"]] == ["NVIDIA H100 80GB HBM3"] * 2
    assert first["gpus"] == [[0, 98, 0, 640.0, 37, 345], [1, None, 0, 73.0, 37, 345]]
    assert "columns" not in second
    nvml_stub.set("* count 2", "0 limit 500")
    until = time.monotonic() + 20
    while path.read_text().count('"columns"') < 2:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_costs_the_record_and_not_the_sampler(sampler):
    child = sampler("--interval", "0.05", "--record", "/dev/full")
    assert all(child.stdout.readline() for _ in range(3))


def test_it_imports_nothing_heavy(nvml_stub):
    program = (
        "import sys; from prl_tui.machine.sampler import main; main(['--once'])\n"
        "heavy = {'textual', 'rich', 'msgspec', 'asyncio', 'psutil', 'tomlkit'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=nvml_stub.environment(), capture_output=True, timeout=30)
    assert done.stderr.decode().splitlines()[-1] == "[]"


def test_it_stays_small(sampler, nvml_stub):
    nvml_stub.set(f"0 pid {os.getpid()}")  # psutil is loaded
    child = sampler("--interval", "0.05")
    for _ in range(5):
        child.stdout.readline()
    pages = int(open(f"/proc/{child.pid}/statm").read().split()[1])  # noqa: PTH123, SIM115
    assert pages * os.sysconf("SC_PAGE_SIZE") < 30 << 20


def test_the_child_command_finds_this_package_from_anywhere(tmp_path):
    command = python_argv("prl_tui.machine.sampler", "--once")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=True)
    assert b'"gpus"' in done.stdout


def test_a_sampler_of_ours_starts_without_the_environments_pth_files(tmp_path, nvml_stub, monkeypatch):
    """CPython runs the import lines of .pth files in `site`: a child that skips it finds the binding all the same."""
    found = light_argv("prl_tui.machine.sampler", "--once", needs=("pynvml", "psutil"))
    assert found[1] == "-S"
    (tmp_path / "pynvml.py").write_text("raise SystemExit(9)")  # a training folder's own file of that name
    done = subprocess.run(found, cwd=tmp_path, env=nvml_stub.environment(), capture_output=True, timeout=30, check=True)
    assert json.loads(done.stdout)["gpus"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    again = light_argv("prl_tui.machine.sampler", "--once", needs=("pynvml", "psutil"))
    assert str(tmp_path) not in again


def test_a_sampler_that_lacks_a_package_starts_as_any_python_does():
    assert light_argv("prl_tui.machine.sampler", needs=("no_such_package",)) == python_argv("prl_tui.machine.sampler")
