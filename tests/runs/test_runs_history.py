"""The pace that an earlier run lends to a new one, from the metrics of real run folders (ms-swift 4.x's logging.jsonl)."""

from __future__ import annotations

import json

import pytest

from prl_tui.core.config import Source, resolve
from prl_tui.core.plan import build
from prl_tui.machine.gpus import GpuSnapshot
from prl_tui.runs import history, plans, records
from prl_tui.runs.store import make_folder
from prl_tui.tui import feeds
from tests.built_in import RECIPES
from tests.runs.helpers import until

DEMO = resolve(RECIPES["demo"], "two-ranks")


def a_run(root, steps, config=DEMO, seconds=3):
    folder = make_folder(root)
    out = folder.path / "out"
    out.mkdir()
    rows = [
        {
            "loss": 2.0,
            "global_step/max_steps": f"{step}/200",
            "elapsed_time": f"{step * seconds}s",
            "train_speed(s/it)": float(seconds),
        }
        for step in range(1, steps + 1)
    ]
    (folder.path / "logging.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    bar = "".join(
        f"\rTrain:  1%|#| {step}/200 [00:{seconds * step:02d}<09:00,  {seconds}.00s/it]" for step in range(1, steps + 1)
    )
    (folder.path / "output.log").write_text(bar + "\n")
    info = {**plans._info(build(config)), "cwd": str(folder.path)}
    (folder.path / "run.json").write_text(json.dumps({"schema": records.SCHEMA, "created": 1.0, **info}))
    return folder


@pytest.mark.parametrize(("steps", "known"), [(1, False), (2, False), (9, False), (10, True), (15, True)])
def test_a_run_that_did_hardly_a_step_lends_no_pace(tmp_path, steps, known):
    folder = a_run(tmp_path, steps)
    found = history.pace(tmp_path, DEMO)
    assert (found.seconds is not None, found.run, found.differs) == (known, folder.id if known else "", ())


def test_what_changes_no_step_is_no_difference_and_what_does_is_named(tmp_path):
    other = {
        "max_steps": 50, "save_steps": 7, "eval_steps": 9, "logging_steps": 3, "learning_rate": "1e-4", "seed": 7,
        "output_dir": "elsewhere", "master_port": 29999,
    }  # fmt: skip
    folder = a_run(tmp_path, 12, DEMO.with_values(other, Source.SET))
    assert history.pace(tmp_path, DEMO) == (3.0, folder.id, ())
    changed = DEMO.with_values({"per_device_train_batch_size": 8, "hidden_size": 512}, Source.SET)
    found = history.pace(tmp_path, changed)
    assert (found.run, set(found.differs)) == (folder.id, {"per_device_train_batch_size", "hidden_size"})


def test_the_nearest_run_lends_its_pace_and_not_the_newest(tmp_path):
    wide = DEMO.with_values({"hidden_size": 512}, Source.SET)
    near = a_run(tmp_path, 12)
    a_run(tmp_path, 12, wide, seconds=9)
    a_run(tmp_path, 2)  # has hardly begun
    assert history.pace(tmp_path, DEMO) == (3.0, near.id, ())
    assert history.pace(tmp_path, wide).seconds == 9.0


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_every_recipe_says_which_settings_change_no_step(recipe):
    never = {
        "num_train_epochs", "num_epochs", "epochs", "max_steps", "save_steps", "eval_steps", "logging_steps",
        "save_total_limit", "learning_rate", "lr", "seed", "output_dir", "save_dir", "resume_from_checkpoint", "resume",
        "wandb_run_name", "master_port", "cuda_visible_devices",
    }  # fmt: skip
    always = {
        "per_device_train_batch_size", "gradient_accumulation_steps", "num_generations", "batch_size",
        "micro_batch_size", "global_batch_size", "model", "model_path", "base_model", "max_completion_length",
        "num_iterations", "deepspeed", "nnodes",
    }  # fmt: skip
    assert not {field.key for field in recipe.fields if field.changes_step_time} & never
    assert always & recipe.by_key.keys() <= {field.key for field in recipe.fields if field.changes_step_time}


def test_the_forms_facts_say_what_differs_at_each_keystroke_without_a_look_at_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(feeds.paths, "runs_dir", lambda: tmp_path)
    near = a_run(tmp_path, 12)
    box, nothing = feeds.BoxFacts(), GpuSnapshot(0.0)
    box.facts(DEMO, nothing)
    until(lambda: box.known(DEMO), "the look at the runs")
    monkeypatch.setattr(feeds.history, "earlier", lambda *_: pytest.fail("read again"))
    found = box.facts(DEMO, nothing)
    assert (found.seconds_per_step, found.pace_source, found.pace_differs) == (3.0, near.id, ())
    typed = box.facts(DEMO.with_values({"hidden_size": 512}, Source.FORM), nothing)
    assert (typed.seconds_per_step, typed.pace_source, typed.pace_differs) == (3.0, near.id, ("hidden_size",))
