"""Outside text on the watch screen, widget by widget: shown literally, nothing lost, nothing obeyed.

| widget | what comes from outside | test |
|---|---|---|
| GpuTable, GpuPane, its details and border | names of GPUs, users, commands, devices of a rank, a driver's words | the first three |
| LineChart | names of metrics, by run.json and the log | ..._names_of_metrics |
| LogView, LogTabs, the finder, toasts | lines of logs, what is searched | ..._log_and_what_is_searched |
| head, health | names, paths of checkpoints, causes | ..._a_bare_log, ..._checkpoint; test_hostile_text.py |
| Help (changes, stacks) | settings, commands | ..._dialogs |
| form, verdict, presets, preview, export, top bar, runs, questions, toasts | all that is typed or read | test_hostile_text.py |
"""

from __future__ import annotations

import json
import sys
import time

import pytest
from textual.app import App as TextualApp

from prl_tui.core.value import replace
from prl_tui.i18n import visible
from prl_tui.machine import paths
from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.gpu_feed import Reading
from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot
from prl_tui.machine.processes import printable
from prl_tui.runs import bare, launcher
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.seats import Seat, Seats
from prl_tui.tui.screens.dialogs import Help
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.widgets.gpu_pane import GpuPane
from tests.tui.driving import configure, screen, text_of, type_text, wait_for
from tests.tui.test_hostile_text import HOSTILE, MARKUP, assert_clean

pytestmark = pytest.mark.slow

WIDE = (160, 45)


class Pane(TextualApp):
    def compose(self):
        yield GpuPane(id="gpus")


def box(text):
    """A GPU whose every word is the text, used by a rank and by a stranger."""
    known = {"user": text, "command": text, "started": time.time() - 7200}
    used = (GpuProcess(11, "compute", 1 << 33, **known), GpuProcess(99, "compute", 1 << 30, **known))
    return Gpu(0, uuid="GPU-0", name=text, bus="00000000:10:00.0", memory_used=1 << 33, memory_total=1 << 36,
               utilization=5, sm_clock=1980, clock_reasons=("power-cap", text), processes=used)  # fmt: skip


@pytest.mark.parametrize(("text", "_"), HOSTILE)
async def test_the_gpu_pane_and_its_details(text, _):
    app, shown = Pane(), printable(text)
    async with app.run_test(size=WIDE) as pilot:
        pane = app.query_one(GpuPane)
        pane.styles.border = ("round", "white")
        fault = GpuFault("reader-ended", {"how": text})
        snapshot = GpuSnapshot(time.time(), (box(text),))
        pane.show(Reading(snapshot, 9.0, True, 20.0, fault))
        pane.styles.height = 30
        pane.follow(Seats((Seat(0, 0, 11, text, False),), frozenset({11})), 1, {"cuda_visible_devices": text})
        await wait_for(pilot, lambda: f"GPU 0  {shown}" in text_of(pane), "its name")
        said = text_of(pane)
        assert said.count(shown) >= 5, said
        assert "! not of this run" in said
        assert "by itself: " in said, "the fault on the border"
        assert_clean(app)


@pytest.mark.parametrize("text", [text for text, _ in HOSTILE])
async def test_a_driver_s_own_words_instead_of_rows(text):
    app = Pane()
    async with app.run_test(size=WIDE) as pilot:
        snapshot = GpuSnapshot(1.0, fault=GpuFault("other", {"message": text}))
        app.query_one(GpuPane).show(Reading(snapshot, 0.1, False, 1.0))
        await wait_for(pilot, lambda: printable(visible(text)).split()[0] in screen(app), "the driver's words")
        assert_clean(app)


async def test_a_rank_that_names_hostile_devices():
    app = Pane()
    async with app.run_test(size=WIDE) as pilot:
        pane = app.query_one(GpuPane)
        pane.styles.height = 30
        snapshot = GpuSnapshot(time.time(), (replace(box("x"), processes=()),))
        pane.show(Reading(snapshot, 0.1, False, 1.0))
        pane.follow(Seats((Seat(0, 0, 11, "0,[/INST]\x1b[2J", False),), frozenset({11})), 1, {})
        await wait_for(pilot, lambda: "CUDA_VISIBLE_DEVICES=0,[/INST]" in text_of(pane), "what it sees")
        assert_clean(app)


def bare_log(tmp_path, name, lines):
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    found = bare.find(str(path), tmp_path)
    assert isinstance(found, bare.BareRun)
    return found


async def watch(pilot, folder):
    await configure(pilot)
    pilot.app.open_run(folder)
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
    await wait_for(pilot, lambda: pilot.app.screen.query("#health"), "its widgets")
    return pilot.app.screen


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
async def test_the_log_and_what_is_searched(app, tmp_path, text, shown):
    folder = bare_log(tmp_path, "run.log", ["first", f"before {text} behind", "Error: last"])
    async with app().run_test(size=WIDE, notifications=True) as pilot:
        place = await watch(pilot, folder)
        log = place.query_one("#logs")
        await wait_for(pilot, lambda: "Error: last" in text_of(log), "the log")
        assert_clean(pilot.app)
        line = next(line for line in text_of(log).split("\n") if "before" in line)
        assert "behind" in line, "nothing swallows what follows"
        if text in MARKUP:
            assert f"before {text} behind" in line
        await pilot.press("slash")
        await wait_for(pilot, lambda: place.query("#finder") or pilot.app.screen.query("Input"), "the finder")
        typed = text if text.isprintable() else shown
        for char in typed:
            await pilot.press(char) if len(char.encode()) > 1 else await type_text(pilot, char)
        await pilot.press("enter")
        await pilot.pause()
        assert_clean(pilot.app)
        assert pilot.app.is_running


@pytest.mark.parametrize(("text", "shown"), [pair for pair in HOSTILE if "/" not in pair[0]])
async def test_the_name_of_a_bare_log(app, tmp_path, text, shown):
    folder = bare_log(tmp_path, f"{text}.log", [f"ValueError: {text}"])
    async with app().run_test(size=WIDE) as pilot:
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: f"{shown}.log" in text_of(place.query_one("#head")), "its name")
        assert_clean(pilot.app)


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
async def test_names_of_metrics_and_a_checkpoint(app, tmp_path, text, shown):
    folder = RunFolder(paths.runs_dir() / "h1")
    folder.path.mkdir(parents=True)
    outputs = {"curves": [text, "loss"], "anchors": [], "bars": [], "metric_lines": []}
    info = {"schema": 1, "id": "h1", "recipe": "demo", "created": 1.0, "cwd": str(tmp_path), "outputs": outputs}
    (folder.path / "run.json").write_text(json.dumps(info))
    rows = [{"loss": 1 / n, text: n / 2, "global_step/max_steps": f"{n}/9"} for n in range(1, 5)]
    console = "".join(f"{row}\n" for row in rows)
    console += f"[INFO:swift] Saving model checkpoint to {tmp_path}/{text.replace('/', '')}/checkpoint-4\n"
    (folder.path / "output.log").write_text(console, "utf-8")
    async with app().run_test(size=WIDE) as pilot:
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: "4 / 9" in text_of(place.query_one("#head")), "its steps")
        await pilot.press("2")
        await pilot.pause()
        assert_clean(pilot.app)
        if text in MARKUP and "'" not in text and "\\" not in text:
            charts = text_of(place.query_one("#curves")) + text_of(place.query_one("#second"))
            await wait_for(pilot, lambda: "loss" in charts, "a curve")


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
async def test_dialogs_of_changes_and_stacks(app, text, shown):
    """What settings and commands of two runs differ in; nobody may run py-spy on them here."""
    code = "import time; time.sleep(0.1)"
    before, after = (
        launcher.start(
            paths.runs_dir(),
            launcher.Job((sys.executable, "-c", code), info={"recipe": "mine", "values": {"model": value, "n": value}}),
        )
        for value in ("plain", text)
    )
    async with app().run_test(size=WIDE, notifications=True) as pilot:
        for folder in (before, after):
            await wait_for(pilot, (folder.path / "exit.json").exists, "its end")
        await watch(pilot, after)
        await pilot.press("m")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "what changed")
        await wait_for(pilot, lambda: shown.split()[0] in screen(pilot.app), "the value that changed")
        assert_clean(pilot.app)
        await pilot.press("escape")
        pilot.app.push_screen(Help(text))
        await wait_for(pilot, lambda: shown.split()[0] in screen(pilot.app), "any text of a dialog")
