import shutil
from pathlib import Path

import pytest

from prl_tui.telemetry.run_view import RunReader, RunView

CAPTURES = Path(__file__).parents[1] / "fixtures" / "engine_runs"


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def append(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def test_a_run_without_files_waits(tmp_path):
    reader = RunReader.of_folder(tmp_path / "run")
    view = reader.poll()
    assert view == RunView()
    assert reader.poll() is view


def test_a_run_from_its_first_line_to_its_last(tmp_path):
    clock = Clock()
    log, ranks = tmp_path / "run" / "output.log", tmp_path / "run" / "ranks"
    reader = RunReader(log, ranks, base_dir=tmp_path / "work", clock=clock)
    reader.poll()
    append(log, "W1127 torchrun banner\n")
    assert reader.poll().phase == "launching"
    append(log, "[INFO:swift] rank: 0, local_rank: 0, world_size: 2, local_world_size: 2\n")
    view = reader.poll()
    assert (view.phase, view.facts["world_size"]) == ("ranks", "2")

    append(log, "[INFO:swift] The logging file will be saved in: output/v0/logging.jsonl\n")
    view = reader.poll()
    assert view.phase == "ready"
    assert view.metrics_path == tmp_path / "work" / "output" / "v0" / "logging.jsonl"
    assert view.metrics_source == ""

    append(log, "\rTrain:  10%|█ | 1/10 [00:02<00:18,  2.00s/it]")
    view = reader.poll()
    assert (view.phase, view.progress.step, view.progress.source) == ("training", 1, "bar")
    append(log, "\r{'loss': '1.234', 'global_step/max_steps': '1/10'}\n")
    view = reader.poll()
    assert (view.metrics_source, view.last_row.values["loss"]) == ("console", 1.234)

    append(view.metrics_path, '{"loss": 1.23401, "global_step/max_steps": "1/10", "elapsed_time": "2s"}\n')
    view = reader.poll()
    assert (view.metrics_source, view.rows) == ("file", 1)
    assert list(view.series["loss"]) == [(1, 1.23401)]
    same = reader.poll()
    assert same is view

    clock.now = 1234.0
    (view.metrics_path.parent / "checkpoint-10").mkdir()
    append(log, "[INFO:swift] Saving model checkpoint to output/v0/checkpoint-10\n")
    view = reader.poll()
    assert [(one.path, one.step, one.seen_at) for one in view.checkpoints] == [("output/v0/checkpoint-10", 10, 1234.0)]
    assert not view.done
    append(log, "[INFO:swift] End time of running main: 2026-11-27 21:39:20.709341")
    assert not reader.poll().done
    view = reader.poll(ended=True)  # the last line had no newline
    assert (view.done, view.phase) == (True, "done")
    assert view.last_output == pytest.approx(max(log.stat().st_mtime, view.metrics_path.stat().st_mtime))
    reader.close()


def test_rank_logs_appear_and_a_restart_brings_new_ones(tmp_path):
    clock = Clock()
    reader = RunReader(tmp_path / "output.log", tmp_path / "ranks", clock=clock)
    assert reader.poll().ranks == ()
    append(tmp_path / "ranks" / "id_x" / "attempt_0" / "0" / "stderr.log", "fine\n")
    append(tmp_path / "ranks" / "id_x" / "attempt_0" / "1" / "stderr.log", "a\nb\nTraceback (most recent call last):\n")
    assert reader.poll().ranks == (), "the folder is not listed at every poll"
    clock.now += 2
    view = reader.poll()
    assert [log.rank for log in view.ranks] == [0, 1]
    assert [(mark.path, mark.line) for mark in view.errors] == [(view.ranks[1].stderr, 2)]
    append(tmp_path / "ranks" / "id_x" / "attempt_1" / "0" / "stderr.log", "again\n")
    clock.now += 2
    view = reader.poll()
    assert [log.attempt for log in view.ranks] == [1]
    assert view.errors == ()


def test_ranks_that_came_since_the_last_look_are_seen_at_the_end(tmp_path):
    reader = RunReader(tmp_path / "output.log", tmp_path / "ranks", clock=lambda: 100.0)
    append(tmp_path / "ranks" / "id_a" / "attempt_0" / "0" / "stderr.log", "rank 0\n")
    assert [log.rank for log in reader.poll().ranks] == [0]
    append(tmp_path / "ranks" / "id_a" / "attempt_0" / "1" / "stderr.log", "ValueError: simulated\n")
    assert [log.rank for log in reader.poll().ranks] == [0], "the folder is not looked at each time"
    view = reader.poll(ended=True)
    assert [log.rank for log in view.ranks] == [0, 1]
    assert [mark.path for mark in view.errors] == [view.ranks[1].stderr]


def test_without_an_output_log_rank_0_is_the_console(tmp_path):
    # swift 4.6 under redirected streams: dicts on stdout, bars and messages on stderr.
    folder = tmp_path / "ranks" / "id_x" / "attempt_0" / "0"
    folder.mkdir(parents=True)
    capture = CAPTURES / "grpo_np2_ok_split"
    shutil.copy(capture / "stdout.raw", folder / "stdout.log")
    shutil.copy(capture / "stderr.raw", folder / "stderr.log")
    view = RunReader(None, tmp_path / "ranks").poll(ended=True)
    assert (view.phase, view.rows, view.progress.step) == ("done", 15, 12)
    assert [one.step for one in view.checkpoints] == [6, 12]
    assert [one.seen_at for one in view.checkpoints] == [None, None], "they were there before reading began"


def test_a_summary_is_no_sign_of_success():
    capture = CAPTURES / "fail_sigint_torchrun"
    view = RunReader(capture / "console.raw", metrics_path=capture / "logging.jsonl").poll(ended=True)
    assert view.summary is not None
    assert not view.done
    assert view.errors
    assert view.progress.step == 15


def test_a_real_gpu_run_has_memory_speed_and_time_left():
    capture = CAPTURES / "h100x2_grpo"
    view = RunReader(capture / "console.raw", metrics_path=capture / "logging.jsonl").poll(ended=True)
    assert (view.progress.step, view.progress.total, view.progress.eta_seconds) == (12, 12, 0)
    assert view.last_row.memory_gib == pytest.approx(view.last_row.values["memory(GiB)"])
    assert 0.5 < view.progress.seconds_per_step < 5
    assert "End time" not in view.phase
    assert view.done


def test_reading_in_small_budgets_ends_where_one_read_does(tmp_path):
    capture = CAPTURES / "grpo_np2_ok"
    whole = RunReader(capture / "console.raw", metrics_path=capture / "logging.jsonl").poll(ended=True)
    reader = RunReader(capture / "console.raw", metrics_path=capture / "logging.jsonl")
    view = reader.poll(5000)
    assert view.behind
    while view.behind:
        view = reader.poll(5000, ended=True)
    assert (view.phase, view.progress, view.rows, view.done) == (whole.phase, whole.progress, whole.rows, whole.done)
    assert {name: list(series) for name, series in view.series.items()} == {
        name: list(series) for name, series in whole.series.items()
    }


def test_files_that_cannot_be_read_are_told(tmp_path):
    (tmp_path / "output.log").mkdir()
    (problem,) = RunReader(tmp_path / "output.log").poll().problems
    assert "output.log" in problem


CLOSING = '{"train_runtime": 2.9, "train_loss": 0.1, "global_step/max_steps": "%d/4"}\n'


@pytest.mark.parametrize(("step", "saved", "done"), [(4, 4, True), (4, 2, False), (3, 3, False)])
def test_a_closing_row_after_the_last_checkpoint_means_that_the_training_is_over(tmp_path, step, saved, done):
    # ms-swift 4.6.0 on torch 2.13: rank 1 aborted while it ended, torchrun then ended rank 0 before its closing line
    log, metrics = tmp_path / "run" / "output.log", tmp_path / "logging.jsonl"
    append(log, f"[INFO:swift] The logging file will be saved in: {metrics}\n")
    append(log, f"[INFO:swift] Saving model checkpoint to {tmp_path}/checkpoint-{saved}\n")
    append(metrics, '{"loss": 0.1, "global_step/max_steps": "3/4"}\n' + CLOSING % step)
    assert RunReader(log).poll(ended=True).done is done
