"""The probe before a launch on the screen: what it waits for, what it found, and that the screen never waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import catalog
from prl_tui.machine import paths
from prl_tui.runs import store
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.session import Session
from tests import odd_program
from tests.tui.driving import App, configure, screen, text_of, wait_for


@pytest.fixture
def on_program(tmp_path, config_dir, monkeypatch):
    """The app on a program that imports a module with this text."""

    def make(module, smoke="", gpu=False):
        text = odd_program.recipe(smoke + odd_program.STEPS)
        (config_dir / "odd.toml").write_text(text.replace("needs_gpu = false", f"needs_gpu = {str(gpu).lower()}"))
        (tmp_path / "train.py").write_text("import odd_module\nprint('ran', flush=True)\n")
        (tmp_path / "odd_module.py").write_text(module)
        monkeypatch.chdir(tmp_path)
        found = catalog.load([config_dir])
        return App(found, session=Session.begin(found, "odd", "one"))

    return make


def runs():
    return store.list_runs(paths.runs_dir())


async def test_a_launch_probes_first_and_then_starts(on_program):
    async with on_program("VALUE = 1\n").run_test(size=(120, 40)) as pilot:
        await configure(pilot)
        await pilot.press("l")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run's screen")
        assert len(runs()) == 1


async def test_what_the_probe_found_stands_in_the_verdict_and_nothing_is_launched(on_program, tmp_path):
    async with on_program("import no_such_engine\n").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        await pilot.press("l")
        verdict = place.query_one("#verdict")
        await wait_for(pilot, lambda: "cannot be imported" in text_of(verdict), "the finding")
        assert runs() == []
        (tmp_path / "odd_module.py").write_text("VALUE = 1\n")  # the environment is mended, the config is the same
        await pilot.press("l")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run's screen")


async def test_a_slow_probe_says_what_it_waits_for_and_escape_ends_it(on_program):
    async with on_program("import time\ntime.sleep(600)\n").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        await pilot.press("t")
        verdict = place.query_one("#verdict")
        await wait_for(pilot, lambda: "importing the trainer, 1 s" in " ".join(text_of(verdict).split()), "the step")
        await pilot.press("escape")
        await wait_for(pilot, lambda: "probing" not in text_of(verdict), "no more waiting")
        assert isinstance(pilot.app.screen, ConfigureScreen)
        assert runs() == []


async def test_a_changed_config_makes_a_probe_of_the_old_one_void(on_program):
    async with on_program("import time\ntime.sleep(1.5)\n").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        await pilot.press("l")
        await wait_for(pilot, lambda: place.session.probe is not None, "the probe")
        place.session.set_text("steps", "5")
        place.update()
        assert place.session.probe is None
        told = await wait_for(
            pilot, lambda: [n.message for n in pilot.app._notifications if "changed" in n.message], "why"
        )
        assert "nothing was launched" in told[0]
        assert runs() == []


NPROC = """
[[field]]
key = "nproc_per_node"
type = "int"
group = "launch"
label = { en = "processes" }
default = 2
"""


async def said(pilot, words):
    return await wait_for(pilot, lambda: [n.message for n in pilot.app._notifications if words in n.message], words)


async def test_t_on_a_box_without_gpus_tries_what_needs_none_and_says_what_it_did_not(on_program):
    async with on_program("VALUE = 1\n", NPROC, gpu=True).run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        await pilot.press("t")
        (told,) = await said(pilot, "as far as they can be tried without a GPU")
        assert "The node has no GPU" in told
        assert place.session.probe.findings == (), "torch was not asked for GPUs that are known not to be there"
        assert not place.session.probe.passed, "a launch asks for the GPUs once there are some"
        await pilot.press("l")
        await said(pilot, "Not launched: The node has no GPU")


async def test_t_on_a_box_without_gpus_finds_what_cannot_be_imported(on_program):
    async with on_program("import no_such_engine\n", NPROC, gpu=True).run_test(size=(120, 40)) as pilot:
        await configure(pilot)
        await pilot.press("t")
        await said(pilot, "The probe found: The trainer cannot be imported")


@pytest.mark.parametrize(("key", "text", "why"), [
    ("steps", "0", "Not tried: steps"),
    ("training_env", "/no/such/env", "Not tried: There is no training environment"),
])  # fmt: skip
async def test_t_that_tries_nothing_speaks_of_no_launch(on_program, key, text, why):
    async with on_program("VALUE = 1\n").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        place.session.set_text(key, text)
        place.update()
        await wait_for(pilot, lambda: not place.session.verdict.can_launch and not place.still_looking, "what is wrong")
        await pilot.press("t")
        await said(pilot, why)
        assert not [n for n in pilot.app._notifications if "aunch" in n.message]


async def test_a_trial_of_a_config_that_was_changed_speaks_of_no_launch(on_program):
    async with on_program("import time\ntime.sleep(1.5)\n").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        await pilot.press("t")
        await wait_for(pilot, lambda: place.session.probe is not None, "the probe")
        place.session.set_text("steps", "5")
        (told,) = await said(pilot, "changed")
        assert "launch" not in told


async def test_the_probe_can_be_left_out(on_program):
    async with on_program("import no_such_engine\n").run_test(size=(120, 40)) as pilot:
        await configure(pilot)
        await pilot.press("L")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run's screen")
        assert len(runs()) == 1


async def test_a_program_that_no_field_ends_is_smoke_tested_until_its_log_shows_the_steps(on_program):
    steps = (
        "import time\n"
        "for step in range(1, 500):\n"
        "    print({'loss': 1 / step, 'epoch': 0.1})\n"
        "    print(f'\\r{step}%|#| {step}/500 [00:00<00:01, 9.5it/s]', end='', flush=True)\n"
        "    time.sleep(0.1)\n"
    )
    async with on_program("VALUE = 1\n").run_test(size=(120, 40)) as pilot:
        await configure(pilot)
        (Path.cwd() / "train.py").write_text(steps)
        await pilot.press("T")
        await wait_for(pilot, lambda: "P the full run   2 steps seen; " in screen(pilot.app), "how it went")
        assert len(runs()) == 1


LOGS = """
import json, os
os.makedirs("out", exist_ok=True)
print("[INFO:swift] The logging file will be saved in: out/logging.jsonl")
with open("out/logging.jsonl", "w") as log:
    for step in (1, 2):
        print(json.dumps({"loss": 1.0, "global_step/max_steps": f"{step}/2"}), file=log)
os.makedirs("out/checkpoint-2", exist_ok=True)
print("[INFO:swift] Saving model checkpoint to out/checkpoint-2")
"""


@pytest.mark.slow
async def test_a_smoke_test_says_how_it_went_and_p_brings_the_full_run(on_program, tmp_path):
    app = on_program("VALUE = 1\n", smoke='[smoke]\nsteps = "steps"\n')
    (tmp_path / "train.py").write_text(LOGS)
    async with app.run_test(size=(80, 24)) as pilot:
        place = await configure(pilot)
        place.session.set_text("steps", "40")
        place.update()
        await pilot.press("T")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run's screen")
        await wait_for(pilot, lambda: "✓ smoke test passed   P the full run" in screen(pilot.app), "how it went")
        await wait_for(
            pilot, lambda: " P the full run " in screen(pilot.app).splitlines()[-1], "the way on among the keys"
        )
        await pilot.press("P")
        place = await configure(pilot)
        assert place.session.config.number("steps") == 40


async def test_the_doctor_is_an_action_and_the_screen_never_waits_for_it(on_program):
    async with on_program("VALUE = 1\n").run_test(size=(120, 40)) as pilot:
        await configure(pilot)
        pilot.app.action_doctor()
        await wait_for(pilot, lambda: "/dev/shm" in screen(pilot.app), "what the doctor found")
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ConfigureScreen), "the form again")
