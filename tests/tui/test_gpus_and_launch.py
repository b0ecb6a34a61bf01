"""The GPU panel on the NVML stub, launching with its refusals and questions, a project's own recipes."""

from __future__ import annotations

import json
import os
import sys

import pytest

from prl_tui.core import catalog
from prl_tui.machine import paths, trust
from prl_tui.runs import launcher, stop, store
from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.dialogs import Question
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.session import Session
from tests.tui.driving import click_text, configure, screen, sees, shows, text_of, wait_for

WIDE, SMALL = (160, 45), (80, 24)


@pytest.fixture
def on_box(recipes, nvml_stub, monkeypatch):
    """Make the real app on a box whose driver is the stub; its sampler is a real child process."""

    def make(*state, recipe="prl-grpo", preset="standard-4gpu", environment=None):
        nvml_stub.set(*state)
        for name, value in (environment or nvml_stub.environment()).items():
            if name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
                monkeypatch.setenv(name, value)
        return PrlApp(recipes, session=Session.begin(recipes, recipe, preset))

    return make


def spec(place):
    return place.session.config.value("cuda_visible_devices")


def runs():
    return store.list_runs(paths.runs_dir())


async def test_the_panel_shows_the_gpus_and_ticking_one_changes_the_list(on_box):
    async with on_box().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        gpus = place.query_one("#gpus")
        await wait_for(pilot, lambda: text_of(gpus).count("[x]") == 4, "the preset's four GPUs ticked")
        assert text_of(gpus).count("[ ]") == 4
        gpus.focus()
        await pilot.press("down", "down", "down", "space")
        await wait_for(pilot, lambda: spec(place) == "0,1,2", "GPU 3 taken off the list")
        assert not place.session.verdict.report.ok, "four processes on three GPUs"
        await wait_for(pilot, lambda: text_of(gpus).count("[x]") == 3, "three ticks")
        await click_text(pilot, gpus, "[ ]   7")
        await wait_for(pilot, lambda: spec(place) == "0,1,2,7", "GPU 7 put on the list")
        await pilot.press("u")
        await wait_for(pilot, lambda: spec(place) == "0,1,2", "one choice undone")


async def test_cards_named_by_a_part_of_their_uuid_are_ticked(on_box):
    card = "GPU-00000000-0000-4000-8000-00000000000"
    app = on_box()
    app.session.set_text("cuda_visible_devices", f"{card}2,{card}5,{card}")
    async with app.run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: text_of(place.query_one("#gpus")).count("[x]") == 2, "two GPUs ticked")
        assert "devices-ambiguous" in {finding.code for finding in place.session.verdict.on_box}


@pytest.mark.parametrize("around", ["5,4", "4,5"])
async def test_without_a_list_the_gpus_of_the_one_around_are_ticked(on_box, monkeypatch, around):
    """All eight were, and taking one off wrote a list of the other seven."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", around)
    app = on_box(preset="standard-2gpu")
    app.session.set_text("cuda_visible_devices", "")
    async with app.run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        gpus = place.query_one("#gpus")
        await wait_for(pilot, lambda: text_of(gpus).count("[x]") == 2, "the two that the job keeps")
        gpus.focus()
        await pilot.press("down", "down", "down", "down", "space")
        await wait_for(pilot, lambda: spec(place) == "5", "GPU 4 taken off")


async def test_the_last_gpu_stays_since_an_empty_list_would_mean_all_of_them(on_box):
    async with on_box(preset="single-gpu").run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        gpus = place.query_one("#gpus")
        await wait_for(pilot, lambda: text_of(gpus).count("[x]") == 1, "one GPU ticked")
        gpus.focus()
        await pilot.press("space")
        await wait_for(
            pilot, lambda: [n for n in pilot.app._notifications if "At least one" in n.message], "the reason"
        )
        assert spec(place) == "0"
        await wait_for(pilot, lambda: text_of(gpus).count("[x]") == 1, "still ticked")


async def test_on_a_small_screen_the_gpus_are_one_line(on_box):
    async with on_box("1 pid 4242 100").run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        line = place.query_one("#gpu-line")
        await wait_for(pilot, lambda: "8 GPUs" in text_of(line), "the count")
        await shows(pilot, line, "1 busy")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_without_a_driver_one_sentence_says_why_and_a_gpu_job_is_refused(on_box, nvml_stub, size):
    app = on_box(environment=nvml_stub.without_library())
    async with app.run_test(size=size) as pilot:
        place = await configure(pilot)
        await sees(pilot, "libnvidia-ml")
        await wait_for(pilot, lambda: "no GPU" in text_of(place.verdict), "the verdict on this box")
        await pilot.press("l")
        await wait_for(pilot, lambda: [n for n in app._notifications if "Not launched" in n.message], "the refusal")
        assert "no GPU" in next(iter(app._notifications)).message
        assert pilot.app.screen is place
    assert runs() == []


async def test_a_config_with_errors_is_not_launched(on_box):
    async with on_box().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.form.go_to("num_generations")
        await pilot.press("3", "enter", "l")
        await wait_for(pilot, lambda: list(pilot.app._notifications), "the refusal")
        note = next(iter(pilot.app._notifications)).message
        assert "Not launched" in note
        assert "not a multiple of 3" in note
    assert runs() == []


async def test_a_recipe_chosen_a_moment_ago_is_judged_by_this_box_before_it_launches(on_box, nvml_stub):
    app = on_box(recipe="demo", preset="two-ranks", environment=nvml_stub.without_library())
    async with app.run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        assert place.session.verdict.can_launch
        place.session.choose("prl-grpo", "quick-test")
        place.action_launch()
        await pilot.pause()
        assert pilot.app.screen is place
        assert "Not launched" in next(iter(app._notifications)).message
    assert runs() == []


async def test_a_busy_gpu_is_asked_about_with_the_safe_answer_first(on_box, monkeypatch, tmp_path):
    for name in ("mr_train", "mr_val", "mr_infer"):  # what the recipe needs, so that only the busy GPU is in the way
        path = tmp_path / "datasets" / "original" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n" * 100)
    (tmp_path / "examples" / "train" / "grpo").mkdir(parents=True)
    (tmp_path / "examples" / "train" / "grpo" / "prompt.txt").write_text("write a prompt")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "torchrun").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "torchrun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    async with on_box("2 pid 4242 60000").run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "in use" in text_of(place.verdict), "the busy GPU in the verdict")
        await pilot.press("L")  # the probe would miss ms-swift
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: pilot.app.focused and pilot.app.focused.id == "no", "the safe answer focused")
        await wait_for(pilot, lambda: "in use" in screen(pilot.app), "the reason in the question")
        await pilot.press("enter")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the form again")
        await pilot.press("f")
        await wait_for(pilot, lambda: spec(place) == "0,1,3,4", "free GPUs instead")
    assert runs() == []


async def test_a_gpu_that_a_run_has_reserved_is_refused_though_it_looks_idle(on_box, nvml_stub):
    sleep = (sys.executable, "-c", "import time; time.sleep(600)")
    gpus = {"GPU-00000000-0000-4000-8000-000000000001": 1}
    other = launcher.start(paths.runs_dir(), launcher.Job(sleep, gpus=gpus, info={"recipe": "demo"}))
    try:
        app = on_box(environment=nvml_stub.environment())
        async with app.run_test(size=WIDE) as pilot:
            place = await configure(pilot)
            # in the verdict, though what else is missing on this box may stand before it
            await wait_for(
                pilot,
                lambda: any(f"run {other.id}" in finding.message for finding in place.session.verdict.here),
                "who has it, in the verdict",
            )
            await pilot.press("l")
            await wait_for(pilot, lambda: [n for n in app._notifications if "Not launched" in n.message], "the refusal")
        assert [folder.id for folder in runs()] == [other.id]
    finally:
        stop.stop(other)
        assert stop.wait(other, 20)


@pytest.fixture
def quick_recipe(own_home):
    """A recipe of one's own whose job ends at once: `python -m this`."""
    folder = paths.config_dir() / "recipes"
    folder.mkdir(parents=True)
    (folder / "quick.toml").write_text(
        'schema = 1\nname = "quick"\ntitle = { en = "quick" }\nlauncher = "python"\nneeds_gpu = false\n'
        'default_preset = "once"\n[program.python]\nmodule = "this"\n[defaults]\ntraining_env = "this"\n'
        "[presets.once]\nvalues = { nproc_per_node = 1 }\n"
    )
    return catalog.load([folder])


async def test_l_starts_the_run_and_shows_it(on_box, quick_recipe, nvml_stub):
    app = on_box(environment=nvml_stub.without_library())
    app._catalog, app._session = quick_recipe, Session.begin(quick_recipe, "quick", "once")
    async with app.run_test(size=SMALL) as pilot:
        await configure(pilot)
        await pilot.press("l")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await wait_for(pilot, lambda: "finished" in screen(pilot.app), "its end")
        await wait_for(pilot, lambda: "honking great idea" in screen(pilot.app), "its log")
    (folder,) = runs()
    assert folder.info()["recipe"] == "quick"


# --- a project's own recipes --------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "work" / ".prl-tui"
    folder.mkdir()
    (folder / "mine.toml").write_text(
        'schema = 1\nextends = "demo"\n[presets.from-project.values]\nmax_steps = 7\n', "utf-8"
    )
    return folder


@pytest.mark.parametrize("answer", ["y", "enter"])
async def test_a_projects_recipes_are_asked_about_once_and_used_only_after_a_yes(project, monkeypatch, answer):
    from tests.tui.driving import App

    async with App().run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: pilot.app.focused and pilot.app.focused.id == "no", "the safe answer focused")
        await wait_for(pilot, lambda: "has recipes of" in screen(pilot.app), "the question's sentence")
        await pilot.press(answer)
        place = await configure(pilot)
        used = answer == "y"
        await wait_for(
            pilot, lambda: ("from-project" in text_of(place.presets)) == used, "the presets after the answer"
        )
    assert trust.known(project) is used
    assert list(json.loads((paths.state_dir() / "projects.json").read_text()).values()) == [used]
    async with App().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await pilot.pause()
        assert pilot.app.screen is place, "not asked again"
        assert ("from-project" in text_of(place.presets)) == used


@pytest.mark.parametrize("answer", ["y", "enter"])
async def test_an_answer_that_cannot_be_kept_holds_until_one_leaves_and_is_told(project, monkeypatch, answer):
    """Judged by the kernel, which makes no folder there."""
    from tests.tui.driving import App

    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nothing")
    async with App().run_test(size=WIDE, notifications=True) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: pilot.app.focused and pilot.app.focused.id == "no", "the safe answer focused")
        await pilot.press(answer)
        place = await configure(pilot)
        used = answer == "y"
        await wait_for(
            pilot, lambda: ("from-project" in text_of(place.presets)) == used, "the presets after the answer"
        )
        told = [one.message for one in pilot.app._notifications]
        assert [one for one in told if one.startswith("The answer is not kept: /proc/nothing/prl-tui/projects.json")]
    assert trust.known(project) is used


async def test_a_broken_file_is_named_and_the_rest_works(project):
    from tests.tui.driving import App

    trust.remember(project, True)
    (project / "broken.toml").write_text("schema = [/INST] [bold]\n")
    async with App().run_test(size=WIDE, notifications=True) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "broken.toml" in screen(pilot.app), "the file named")
        await shows(pilot, place.presets, "from-project")
