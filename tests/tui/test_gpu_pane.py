"""The watch screen's GPUs on the NVML stub, through the real binding and the sampler's process, at every size.

Judged by what the stub was told to say, by the processes that really run, and by the clock where the driver hangs.
"""

from __future__ import annotations

import json
import os
import re
import time

import pytest
from rich.cells import cell_len

from prl_tui.machine import paths
from prl_tui.runs.folder import RunFolder
from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.widgets.gpu_pane import GpuPane
from tests.tui.driving import lines, screen, shows, text_of, wait_for
from tests.tui.gpu_box import SIZES, running

pytestmark = pytest.mark.slow

BUSY = ["{n} mem 60000", "{n} util 98", "{n} power 640", "{n} temp 61", "{n} clock 1980", "{n} reasons 4"]


def busy(*gpus):
    return [line.format(n=gpu) for gpu in gpus for line in BUSY]


@pytest.fixture
def box(nvml_stub, monkeypatch):
    """Make a box say something, from now on and for the app's sampler."""
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    return nvml_stub


async def pane_of(pilot):
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
    return await wait_for(pilot, lambda: pilot.app.screen.query_one_optional(GpuPane), "the pane")


async def at_each_size(pilot, pane, words, cut=False):
    """From size to size and back: the words are there, no row is too long, nothing is cut but where that is known."""
    for size in [*SIZES, *reversed(SIZES)]:
        await pilot.resize_terminal(*size)
        await pilot.press("1")
        for one in words:
            await wait_for(pilot, lambda word=one: word in text_of(pane), f"{one!r} at {size}", 10)
        for line in lines(pilot.app):
            assert cell_len(line) == size[0], (size, line)
            assert line.isprintable()
        assert cut or "…" not in text_of(pane).replace("… ", ""), (size, text_of(pane))


def rows_of(pane):
    """Rank, number of the GPU and what stands last, of each row."""
    found = {}
    for line in text_of(pane).split("\n")[2:]:
        words = line.strip("│ ").split()
        if not words or words[0] == "GPU":
            break
        rank = words.pop(0) if words[0].startswith("r") else ""
        found[words[0]] = rank
    return found


async def test_ranks_stand_beside_the_gpus_where_the_driver_sees_their_processes(box):
    with running(2, visible="6,2") as (folder, pids):
        box.set(*busy(6, 2), f"2 pid {pids[0]} 60000", f"6 pid {pids[1]} 60000", f"6 pid {os.getpid()} 900")
        async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
            pane = await pane_of(pilot)
            await at_each_size(pilot, pane, ["98 %", "r0   2", "r1   6"])
            await wait_for(pilot, lambda: rows_of(pane) == {"2": "r0", "6": "r1"}, "only the run's GPUs")
            await shows(pilot, pane, "this run's 2 of 8")
            await pilot.press("b")
            await wait_for(pilot, lambda: "all 8 of the box" in text_of(pane), "the whole box")
            assert list(rows_of(pane)) == list("01234567")
            await pilot.press("b", "down")
            details = [f"r1 → pid {pids[1]} → GPU-00000000-0000-4000-8000-000000000006", "! not of this run"]
            for words in [*details, "held down by: power cap"]:
                await wait_for(pilot, lambda one=words: one in text_of(pane), words)
            await shows(pilot, pane, "! shared")


async def test_in_a_container_a_ranks_own_environment_tells_its_gpu(box):
    """The driver's numbers are the host's there: processes that this place does not have."""
    box.set(*busy(4, 5), "5 pid 3999999 60000", "4 pid 4294967295 60000")
    with running(2, visible="5,4") as (folder, _):
        async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
            pane = await pane_of(pilot)
            await at_each_size(pilot, pane, ["r1   4", "r0   5"])
            await pilot.resize_terminal(*SIZES[2])
            for words in ("CUDA_VISIBLE_DEVICES=5,4", "hidden: of another container", "pid –"):
                await wait_for(pilot, lambda one=words: one in text_of(pane), words)
            assert "shared" not in text_of(pane), "nobody can say whose those are"


async def test_a_run_of_another_host_claims_no_gpu_of_this_box(box):
    box.set(*busy(0, 1), "* count 2")
    folder = RunFolder(paths.runs_dir() / "far")
    (folder.path / "ranks" / "x" / "attempt_0" / "0").mkdir(parents=True)
    for name, value in (
        ("run", {"id": "far", "recipe": "demo", "created": time.time()}),
        ("state", {"host": "another", "boot_id": "x", "pid_namespace": "1", "started": time.time()}),
        ("heartbeat", {"time": time.time()}),
    ):
        (folder.path / f"{name}.json").write_text(json.dumps({"schema": 1, **value}))
    async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
        pane = await pane_of(pilot)
        await wait_for(pilot, lambda: "98 %" in text_of(pane), "the box")
        await wait_for(pilot, lambda: "r0" in text_of(pilot.app.screen.query_one("#logs")), "the run's rank")
        assert rows_of(pane) == {"0": "", "1": ""}


async def test_uuids_in_cuda_visible_devices(box):
    uuids = "GPU-00000000-0000-4000-8000-000000000007,GPU-00000000-0000-4000-8000-000000000001"
    with running(2, visible=uuids) as (folder, _):
        async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
            pane = await pane_of(pilot)
            await wait_for(pilot, lambda: rows_of(pane) == {"1": "r1", "7": "r0"}, "the ranks by UUID")


async def test_ranks_on_mig_slices(box):
    with running(2) as (folder, pids):
        box.set("* count 2", "1 mig 3", f"1 pid {pids[0]} 9000 8", f"1 pid {pids[1]} 8000 9")
        async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
            pane = await pane_of(pilot)
            await at_each_size(pilot, pane, ["r0   └", "r1   └", "10.0", "MIG is on", "1g.10gb"])
            for words in ("MIG-00000001-0000-4000-8000-000000000001", "util: not reported while MIG is on"):
                await wait_for(pilot, lambda one=words: one in text_of(pane), words)


async def test_sixteen_gpus_each_have_a_row_from_80_columns_on_and_the_odd_ones_say_why(box):
    box.set("* count 16", *busy(*range(16)), "9 reasons 64", "9 util 12", "3 lost 1", "12 refuse 4", "13 deny power")
    with running(16) as (folder, _):
        async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
            pane = await pane_of(pilot)
            await wait_for(pilot, lambda: "this run's 14 of 16" in text_of(pane), "CUDA counts what answers")
            await pilot.press("1", "b")
            await at_each_size(pilot, pane, ["heat", "✗ lost", "✗ denied", "r13  15", "power cap"])
            await wait_for(pilot, lambda: len(rows_of(pane)) == 16, "sixteen rows")


async def test_rows_without_room_are_counted_and_reached_by_arrows(box):
    box.set("* count 16", "15 lost 1", "15 refuse 15")
    with running(1) as (folder, _):
        async with PrlApp(watch=folder).run_test(size=(100, 24)) as pilot:
            pane = await pane_of(pilot)
            await pilot.press("1", "b")
            await wait_for(pilot, lambda: "! look at GPU 15" in text_of(pane), "the odd one among the hidden")
            await pilot.press(*["down"] * 15)
            await wait_for(pilot, lambda: "✗ lost" in text_of(pane), "its row")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (["* count 0"], "shows no GPU here"),
        (["* init 18"], "different versions"),
        (["* init 9"], "kernel driver is not loaded"),
        (["* init 4"], "may not use the NVIDIA devices"),
        (None, "libnvidia-ml.so.1"),
        (["* count 1"], "H100 80GB HBM3"),
        (["* count 1", "0 pid 4294967295 900"], "pid –"),
    ],
)
async def test_each_box_is_a_clear_picture(box, monkeypatch, state, words):
    box.set(*(state or []))
    if state is None:
        monkeypatch.setenv("LD_LIBRARY_PATH", box.without_library()["LD_LIBRARY_PATH"])
    with running(1) as (folder, _):
        async with PrlApp(watch=folder).run_test(size=SIZES[1]) as pilot:
            pane = await pane_of(pilot)
            for size in [*SIZES, *reversed(SIZES)]:
                await pilot.resize_terminal(*size)
                await pilot.press("1")

                def said():
                    return " ".join(text_of(pane).replace("│", " ").split())

                await wait_for(pilot, lambda: words in said(), f"{words!r} at {size}")
                assert all(cell_len(line) == size[0] for line in lines(pilot.app))
                assert "…" not in said().replace("Asking the NVIDIA driver", ""), said()


async def test_a_gpu_that_falls_off_while_one_looks_keeps_its_place(box):
    box.set(*busy(0, 1), "* count 2")
    with running(2) as (folder, _):
        async with PrlApp(watch=folder).run_test(size=SIZES[0]) as pilot:
            pane = await pane_of(pilot)
            await pilot.press("1")
            await wait_for(pilot, lambda: rows_of(pane) == {"0": "r0", "1": "r1"}, "both")
            box.set(*busy(0, 1), "* count 2", "1 lost 1")
            await wait_for(pilot, lambda: "✗ lost" in text_of(pane), "its loss")
            assert rows_of(pane) == {"0": "r0", "1": "r1"}
            await pilot.press("down")
            await wait_for(pilot, lambda: "fallen off the bus" in text_of(pane), "what it means")


async def test_while_the_driver_hangs_for_20_s_values_tell_their_age_and_keys_work(box):
    box.set(*busy(0, 1))
    with running(2) as (folder, _):
        app = PrlApp(watch=folder)
        async with app.run_test(size=SIZES[0]) as pilot:
            pane = await pane_of(pilot)
            await pilot.press("1")
            await wait_for(pilot, lambda: "98 %" in text_of(pane), "the numbers")
            box.set(*busy(0, 1), "* slow_ms 20000")
            await wait_for(pilot, lambda: "s old" in text_of(pane), "their age")
            await shows(pilot, pane, "98 %")
            await wait_for(pilot, lambda: "has not answered" in text_of(pane), "why", 15)
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await wait_for(pilot, lambda: "s old" in screen(app), f"the age at {size}")
            begun = time.monotonic()
            await pilot.press("3", "1", "b", "q")
            await wait_for(pilot, lambda: not app.is_running, "the end", 5)
            assert time.monotonic() - begun < 3


async def test_a_driver_that_never_answered_is_waited_for_in_words(box):
    box.set("* init_ms 120000")
    since = re.compile(r"Asking the NVIDIA driver since ([2-9]|[1-9][0-9]+) s")  # a busy machine may show no 2
    with running(1) as (folder, _):
        app = PrlApp(watch=folder)
        async with app.run_test(size=SIZES[0]) as pilot:
            pane = await pane_of(pilot)
            await pilot.press("1")
            await wait_for(pilot, lambda: since.search(text_of(pane)), "since when")
            begun = time.monotonic()
            await pilot.press("q")
            await wait_for(pilot, lambda: not app.is_running, "the end", 5)
            assert time.monotonic() - begun < 3
