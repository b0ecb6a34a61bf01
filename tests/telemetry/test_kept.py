"""Checkpoints that were deleted are not listed. The demo really deletes them, as the transformers Trainer does."""

from __future__ import annotations

import shutil

import pytest

from prl_tui.cli import demo
from prl_tui.cli.watching import _Told
from prl_tui.core import plan
from prl_tui.runs import events, launcher, overview, plans, stop
from prl_tui.telemetry.kept import EVERY, Kept
from prl_tui.telemetry.milestones import Checkpoint

NAMED = tuple(Checkpoint(f"out/checkpoint-{n}", n, None) for n in (10, 20, 30))


def test_what_was_deleted_goes_and_what_is_written_only_now_comes(tmp_path):
    kept = Kept(tmp_path)
    for n in (10, 20):
        (tmp_path / f"out/checkpoint-{n}").mkdir(parents=True)
    assert [one.step for one in kept.of(NAMED, 0.0)] == [10, 20], "30 is said before it is there"
    (tmp_path / "out/checkpoint-30").mkdir()
    shutil.rmtree(tmp_path / "out/checkpoint-10")
    assert [one.step for one in kept.of(NAMED, EVERY / 2)] == [10, 20], "the disk is not asked at every look"
    found = kept.of(NAMED, 2 * EVERY)
    assert [one.step for one in found] == [20, 30]
    assert kept.of(NAMED, 4 * EVERY) is found, "nothing new is the same object"
    shutil.rmtree(tmp_path / "out/checkpoint-20")
    assert [one.step for one in kept.of(NAMED, 4 * EVERY, at_once=True)] == [30]


def test_a_folder_that_is_not_seen_from_here_says_nothing(tmp_path):
    assert Kept(tmp_path / "elsewhere").of(NAMED, 0.0) == NAMED
    assert Kept(tmp_path).of((Checkpoint("a\0b/checkpoint-1", 1, None),), 0.0), "no path of this system"


@pytest.mark.slow
@pytest.mark.torch
def test_a_real_run_with_a_limit_lists_only_what_it_kept(root_of_runs, tmp_path):
    pytest.importorskip("torch")
    sets = ["max_steps=12", "save_steps=3", "save_total_limit=1", f"output_dir={tmp_path}/out"]
    config = demo.config(sets)
    folder = launcher.start(root_of_runs, plans.job(plan.build(config), tmp_path))
    try:
        assert stop.wait(folder, 120.0)
    finally:
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.5), by="test")
    one = overview.overview(folder)
    assert one.status.state == "finished"
    steps = [checkpoint.step for checkpoint in one.view.checkpoints]
    assert steps
    assert 3 not in steps, "the first one was deleted"
    there = {path.name for path in tmp_path.glob("out/**/checkpoint-*")}
    assert {f"checkpoint-{step}" for step in steps} == there
    said = [line for line in _Told().news(one) if "checkpoint" in line]
    assert len(said) == len(there)
    assert len([event for event in events.Events().news(one, ()) if event["event"] == "checkpoint"]) == len(there)


@pytest.fixture
def root_of_runs(tmp_path):
    return tmp_path / "runs"
