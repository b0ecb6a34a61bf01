"""Smoke tests: what they change, how they are judged, and that the full run differs in just those fields."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from prl_tui.core import smoke
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.plan import build
from prl_tui.core.smoke import Seen, Sizes, Wanted
from prl_tui.core.value import replace
from prl_tui.machine import paths
from prl_tui.runs import launcher, plans, smoke_data, stop
from prl_tui.runs import smoke as smokes
from prl_tui.runs.state import status
from tests.built_in import RECIPES
from tests.runs.helpers import put_smoke

WITH_SMOKE = [recipe.name for recipe in RECIPES.values() if recipe.data.smoke.steps]
SEEN = Seen(0, 3, 3, True, True)


def config_of(name: str, **values: object) -> RunConfig:
    recipe = RECIPES[name]
    return resolve(recipe, recipe.data.default_preset).with_values(values, Source.SET)


def test_the_usual_recipes_can_be_smoke_tested() -> None:
    assert {"demo", "prl-grpo", "swift-grpo", "swift-sft", "swift-dpo", "swift-rm"} <= set(WITH_SMOKE)
    assert not any(smoke.watched(config_of(name), smoke.NOTHING_KNOWN) for name in WITH_SMOKE)


def differing(one: RunConfig, other: RunConfig) -> set[str]:
    words = [
        {a.key or " ".join(a.words): a.words for a in build(config).arguments if a.words} for config in (one, other)
    ]
    return {key for key in words[0].keys() | words[1].keys() if words[0].get(key) != words[1].get(key)}


@pytest.mark.parametrize("name", WITH_SMOKE)
@pytest.mark.parametrize("steps", [1, 3])
def test_a_smoke_test_changes_its_own_fields_alone_and_promotion_changes_them_back(name: str, steps: int) -> None:
    full = config_of(name, max_steps=500, seed=11)
    short = smoke.shrink(full, steps)
    own = {key for key in full.settings if full.settings[key] != short.settings[key]}
    assert own <= set(smoke.changes(full, steps))
    assert differing(full, short) <= own
    assert short.number("max_steps") == steps
    kept = smokes.record(smoke.wanted(full, steps))
    job = plans.job(build(short), Path.cwd(), {"PATH": ""}, more={smokes.KEY: kept})
    read_back = plans.config_of(dict(job.info), full.baseline())
    promoted = smokes.promoted(dict(job.info), read_back)
    assert promoted is not None
    assert build(promoted).argv == build(full).argv
    assert build(promoted).env == build(full).env
    assert differing(promoted, short) == differing(full, short)


def test_a_field_that_was_not_set_is_not_set_after_promotion() -> None:
    full = config_of("swift-sft", cuda_visible_devices=None, use_cpu=True)
    assert full.value("max_steps") is None
    info = dict(plans.job(build(smoke.shrink(full, 2)), Path.cwd(), {"PATH": ""}).info)
    info[smokes.KEY] = smokes.record(smoke.wanted(full, 2))
    promoted = smokes.promoted(info, plans.config_of(info, full.baseline()))
    assert promoted is not None
    assert promoted.value("max_steps") is None
    assert promoted.value("cuda_visible_devices") is None, "what was unset by hand stays unset"
    assert build(promoted).argv == build(full).argv


def test_an_evaluation_is_forced_where_there_is_something_to_evaluate_on() -> None:
    assert not smoke.evaluates(config_of("swift-sft", split_dataset_ratio=0, val_dataset=None))
    with_data = config_of("swift-sft", split_dataset_ratio="0.1")
    assert smoke.shrink(with_data, 2).value("eval_steps") == 2
    assert not smoke.evaluates(config_of("swift-sft", split_dataset_ratio="0.1", eval_strategy="no"))


WANTED = Wanted(3, True, {}, {})


@pytest.mark.parametrize(("change", "reason"), [
    ({"exit_code": 1}, "exit code 1"),
    ({"exit_code": None}, "exit code –"),
    ({"logged": 0, "step": None}, "no step was logged"),
    ({"logged": 2, "step": 2}, "2 of 3 steps"),
    ({"evaluated": False}, "nothing was evaluated"),
    ({"saved": False}, "no checkpoint was saved"),
    ({"failure": "训练步骤 1 出现错误: x"}, "训练步骤 1 出现错误: x"),
    ({"exit_code": 130, "stopped": True}, "exit code 130"),
])  # fmt: skip
def test_each_missing_thing_fails_it_with_its_reason(change, reason) -> None:
    result = smoke.judge(WANTED, replace(SEEN, **change))
    assert (result.passed, result.reasons) == (False, (reason,))


def test_all_of_it_passes() -> None:
    result = smoke.judge(WANTED, SEEN)
    assert result.passed
    assert result.words() == "smoke test passed: 3 steps logged; evaluated; a checkpoint saved; exit code 0"
    assert smoke.judge(Wanted(3, False, {}, {}), replace(SEEN, evaluated=False)).passed


@pytest.mark.parametrize(("name", "key"), [
    (recipe.name, key) for recipe in RECIPES.values() for key in ("resume", "resume_from_checkpoint") if key in recipe.by_key
])  # fmt: skip
def test_a_smoke_test_begins_anew_and_its_full_run_resumes(name: str, key: str, tmp_path: Path) -> None:
    """transformers' max_steps and ms-swift's are of the whole run: from checkpoint-2000, `--max_steps 5` ends at once."""
    files = {field.key: "rows.csv" for field in RECIPES[name].fields if field.glob}
    full = config_of(name, **files, **{key: "output/checkpoint-2000"})
    short, kept = smoke.shrink(full, 5), smoke.wanted(full, 5)
    assert short.value(key) is None
    (tmp_path / "rows.csv").touch()
    info = dict(plans.job(build(short), tmp_path, {"PATH": ""}, more={smokes.KEY: smokes.record(kept)}).info)
    assert smokes.kept(info) == kept
    promoted = smokes.promoted(info, plans.config_of(info, full.baseline()))
    assert promoted is not None
    assert build(promoted).argv == build(full).argv
    assert "begun anew, not from output/checkpoint-2000" in smoke.judge(kept, Seen(0, 5, 5, True, True)).reasons
    assert "not from output/checkpoint-2000" in smokes.anew_words(kept)
    assert smokes.anew_words(smoke.wanted(config_of(name), 5)) == ""


WATCHED = Wanted(3, False, {}, {}, saves=False, watched=True)


def test_a_watched_one_says_what_could_not_be_forced_and_fails_unless_it_was_ended_for_its_steps() -> None:
    seen = Seen(1, 2, 3, False, False, stopped=True)
    result = smoke.judge(WATCHED, seen)
    assert result.words() == (
        "smoke test passed: 3 steps seen; no evaluation seen, and none can be forced; no checkpoint seen, and none can be"
        " forced; then stopped"
    )
    assert smoke.judge(WATCHED, replace(seen, saved=True)).reasons[2] == "a checkpoint saved"
    assert smoke.judge(WATCHED, replace(seen, logged=0)).passed, "a bar alone shows steps"
    assert smoke.judge(WATCHED, replace(seen, exit_code=0, stopped=False)).passed, "it was so short by itself"
    assert smoke.judge(WATCHED, replace(seen, stopped=False)).reasons == ("exit code 1",), (
        "a person stopped it, or it died"
    )
    assert smoke.judge(WATCHED, replace(seen, step=1)).reasons == ("1 of 3 steps",)
    assert smoke.judge(WATCHED, Seen(0, 0, None, False, False)).reasons == ("no step was logged",)


NAN = """
import sys
for step in range(1, 6):
    print({"loss": LOSS, "epoch": step / 5}, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "passed"), [
    ("float('nan')", False), ("float('inf')", False), ("float('nan') if step < 2 else 0.5", True), ("0.5", True),
])  # fmt: skip
def test_a_loss_that_is_no_number_at_every_step_fails_it(cli, tmp_path: Path, loss: str, passed: bool) -> None:
    """Judge: Python 3.10 to 3.13 print a dictionary's nan as the HF Trainer's log has it; the exit code is 0."""
    script = tmp_path / "train.py"
    script.write_text(NAN.replace("LOSS", loss))
    words = ["--set", f"script={script}", "--set", f"workdir={tmp_path}", "--no-probe"]
    done = cli("launch", "custom/python", "--smoke", "2", "--foreground", *words)
    told = done.out + done.err
    assert ("smoke test passed" in told) is passed, told
    assert ("at every step" in told) is not passed
    assert ("--promote" in told) is passed


def test_a_loss_that_is_no_number_is_named() -> None:
    """Whatever else the run did: the exit code of a training that computes NaN is 0."""
    result = smoke.judge(Wanted(3, True, {}, {}), replace(SEEN, no_number="loss nan"))
    assert result.words() == "smoke test failed: loss nan at every step"


def test_a_share_of_an_epoch_gives_the_steps_by_the_trainers_own_rounding() -> None:
    """transformers 4.57: max_steps = ceil(num_train_epochs × steps of an epoch)."""
    full = config_of("minionerec-sft")
    for per_epoch in (1, 3, 7, 131, 84620):
        for steps in (1, 2, 5, 19):
            short = smoke.shrink(full, steps, Sizes(per_epoch))
            assert math.ceil(float(short.text("num_epochs")) * per_epoch) == steps, (per_epoch, steps)
    assert smoke.watched(full, Sizes(None)), "without the rows no share is known"
    assert not smoke.watched(full, Sizes(10))


def test_data_are_cut_to_what_the_steps_take_and_to_a_line_of_the_log() -> None:
    dpo = config_of("safe-mm-dpo", config_source="generate", gradient_accumulation_steps=4)
    # a line at every tenth micro-batch that ends an accumulation of 4: the 20th; two data sets make one
    assert smoke.cuts(dpo, 2, Sizes(None, 16, 4))["train_helpful_path"] == 20 * 16 // 2
    assert smoke.cuts(dpo, 6, Sizes(None, 16, 4))["train_helpful_path"] == 40 * 16 // 2
    rm = config_of("reward-model", config_source="generate")
    assert smoke.cuts(rm, 3, Sizes(None, 8, 1))["val_harmless_path"] == 24
    assert smoke.cuts(config_of("reward-model"), 3, Sizes(None, 8, 1)) == {}, "the YAML is the person's"


def test_a_setting_without_effect_is_not_touched() -> None:
    assert smoke.changes(config_of("vlm-sft"), 2) == {}
    assert smoke.changes(config_of("vlm-sft", config_source="generate"), 2) == {
        "log_every_n_steps": 1,
        "save_every_n_steps": 2,
    }


def test_a_custom_command_gets_the_arguments_that_were_given_for_it() -> None:
    given = config_of("custom", arguments="--lr 1", smoke_arguments="--max_steps {steps} --save_steps={steps}")
    assert build(smoke.shrink(given, 4)).argv[-5:] == ("--lr", "1", "--max_steps", "4", "--save_steps=4")
    assert "steps" not in " ".join(build(given).argv)
    kept = smoke.wanted(given, 4)
    assert (kept.watched, kept.saves, kept.evaluates) == (False, False, False)
    assert build(smoke.restored(smoke.shrink(given, 4), kept)).argv == build(given).argv
    assert smoke.watched(config_of("custom"), smoke.NOTHING_KNOWN)


def test_the_first_records_are_cut_and_kept_once(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.jsonl").write_bytes('{"n": 1}\r\n\n{"n": "二"}\n{"n": 3}'.encode())
    config = config_of("reward-model", train_helpful_path="data/a.jsonl", val_helpful_path="data/none.jsonl")
    for _ in range(2):
        made = smoke_data.cut(config, {"train_helpful_path": 2, "val_helpful_path": 2}, tmp_path, tmp_path / "cut")
    assert list(made) == ["train_helpful_path"]
    assert Path(made["train_helpful_path"]).read_text("utf-8") == '{"n": 1}\n{"n": "二"}\n'
    assert len(list((tmp_path / "cut").iterdir())) == 1


def test_a_record_of_another_shape_is_no_smoke_test() -> None:
    for info in ({}, {"smoke": None}, {"smoke": {"steps": "2"}}, {"smoke": {"steps": 2, "before": []}}, None, 3):
        assert smokes.kept(info) is None


def test_wrong_words_are_told(cli) -> None:
    assert "at least one step is needed" in cli("launch", "demo", "--smoke", "0").err
    assert "do not go together" in cli("launch", "demo", "--smoke", "2", "--promote").err
    assert "demo is none" in cli("launch", "demo", "--promote").err


@pytest.mark.slow
@pytest.mark.torch
def test_the_demo_is_smoke_tested_and_promoted(cli, tmp_path: Path) -> None:
    words = ["--set", f"output_dir={tmp_path / 'out'}", "--set", "max_steps=6"]
    started = cli("launch", "demo", "--smoke", "2", "--detach", *words)
    watched = cli("watch", started.out.strip(), "--plain")
    assert watched.code == 0
    assert "✓ smoke test passed: 2 steps logged; evaluated; a checkpoint saved; exit code 0" in watched.out
    full = cli("launch", started.out.strip(), "--promote", "--dry-run")
    assert full.out == cli("launch", "demo", "--dry-run", *words).out
    again = cli("launch", started.out.strip(), "--promote", "--detach")
    assert "step 6/6" in cli("watch", again.out.strip(), "--plain").out


@pytest.mark.slow
@pytest.mark.torch
def test_a_resumed_demo_runs_all_steps_of_its_smoke_test_and_resumes_when_promoted(cli, tmp_path: Path) -> None:
    words = ["--set", f"output_dir={tmp_path / 'out'}"]
    first = cli("launch", "demo", "--foreground", *words, "--set", "max_steps=4", "--set", "save_steps=4")
    assert first.code == 0
    [checkpoint] = (tmp_path / "out").glob("**/checkpoint-4")
    words += ["--set", f"resume_from_checkpoint={checkpoint}", "--set", "max_steps=6"]
    started = cli("launch", "demo", "--smoke", "3", "--detach", *words)
    assert f"begins anew, not from {checkpoint}" in started.err
    watched = cli("watch", started.out.strip(), "--plain")
    assert f"✓ smoke test passed: 3 steps logged; begun anew, not from {checkpoint}; evaluated" in watched.out
    assert "step 3/3" in watched.out
    full = cli("launch", started.out.strip(), "--promote", "--dry-run")
    assert full.out == cli("launch", "demo", "--dry-run", *words).out


@pytest.mark.slow
@pytest.mark.torch
def test_a_smoke_test_that_dies_fails_and_is_not_promoted(cli, tmp_path: Path) -> None:
    words = ["--set", f"output_dir={tmp_path / 'out'}", "--set", "fail_rank=1", "--set", "fail_step=1"]
    started = cli("launch", "demo", "--smoke", "2", "--detach", *words)
    watched = cli("watch", started.out.strip(), "--plain")
    assert watched.code == 1
    assert "✗ smoke test failed: exit code 1" in watched.out
    assert "✗ the first cause: rank 1: " in watched.err
    assert "the whole log: " in watched.err
    refused = cli("launch", started.out.strip(), "--promote")
    assert refused.code == 1
    assert "smoke test failed" in refused.err


def test_a_run_that_nobody_would_stop_is_ended(root, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("prl_tui.runs.spawn.watcher", refuse)
    job = launcher.Job(("sleep", "600"), stop_after=2)
    with pytest.raises(
        launcher.LaunchError, match="cannot be watched, so it was stopped: Cannot allocate memory"
    ) as told:
        launcher.start(root, job)
    assert stop.wait(told.value.folder, 20)
    assert status(told.value.folder).state == "stopped"


def test_a_list_tells_a_smoke_test_from_the_run_itself(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    full = config_of("demo")
    kept = {smokes.KEY: smokes.record(smoke.wanted(full, 2))}
    full_run, short = (
        launcher.create(paths.runs_dir(), plans.job(build(full), tmp_path, {"PATH": ""}, more=more)).id
        for more in ({}, kept)
    )
    lines = {line.split()[0]: line for line in cli("runs").out.splitlines()}
    assert "demo/two-ranks · smoke" in lines[short]
    assert "smoke" not in lines[full_run]
    assert len(lines[full_run]) < 80


def test_the_first_records_go_a_month_after_their_last_use(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    config = config_of("reward-model", train_helpful_path=str(rows))
    old, used = ("old\n" * 3, "used\n" * 3)
    places = {}
    for text in (old, used):
        rows.write_text(text, "utf-8")
        places[text] = Path(
            smoke_data.cut(config, {"train_helpful_path": 2}, tmp_path, tmp_path / "cut")["train_helpful_path"]
        )
    for place in places.values():
        os.utime(place, (1.0, 1.0))
    smoke_data.cut(config, {"train_helpful_path": 2}, tmp_path, tmp_path / "cut")
    assert not places[old].exists()
    assert places[used].read_text("utf-8") == "used\nused\n"


@pytest.mark.parametrize(
    ("language", "passed", "failed"),
    [("en", "✓ smoke passed", "✗ smoke failed"), ("zh", "✓ 冒烟通过", "✗ 冒烟未通过")],
)
def test_a_list_says_how_a_smoke_test_went_whatever_its_program_did(
    cli, language: str, passed: str, failed: str
) -> None:
    """One that missed its steps was `✓ finished`, and a passed one, ended once its steps were seen, `■ stopped`."""
    for name, outcome in (("aaa111", "passed"), ("bbb222", "failed"), ("ccc333", "lost")):
        put_smoke(paths.runs_dir(), name, outcome)
    lines = {line.split()[0]: line for line in cli("--lang", language, "runs").out.splitlines()}
    assert lines["aaa111"].startswith(f"aaa111  {passed}  ")
    assert lines["bbb222"].startswith(f"bbb222  {failed}  ")
    assert "smoke" not in lines["ccc333"].replace("· smoke", ""), "nobody saw how it went"
    if language == "en":
        assert lines["bbb222"].endswith("  no step was logged")
        assert failed in cli("rm", "bbb222").err
    data = {one["id"]: one for one in json.loads(cli("runs", "--json").out)}
    assert [data[name]["state"] for name in ("aaa111", "bbb222", "ccc333")] == ["stopped", "finished", "lost"]
    assert data["bbb222"]["detail"] == "no step was logged"
