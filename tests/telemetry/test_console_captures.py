"""Replay of real consoles (ms-swift 4.6.0 and 3.5.3, transformers 5, accelerate 1.15, torch 2.13), cut at will."""

import math
import time
from pathlib import Path

import pytest

from prl_tui.telemetry.console import ConsoleFormat, ConsoleReader
from prl_tui.telemetry.metrics import MetricsFile
from prl_tui.telemetry.progress import read_bar

CAPTURES = Path(__file__).parents[1] / "fixtures" / "engine_runs"
INPUTS = Path(__file__).parents[1] / "fixtures" / "telemetry"
WITH_METRICS = sorted(folder.name for folder in CAPTURES.iterdir() if (folder / "logging.jsonl").exists())
CONSOLE_ENDS_EARLY = {"fail_sigkill_torchrun", "fail_sigterm_wrapper_without_exec"}  # orphaned ranks wrote on
SMALL = {"sft_np2_ok", "hf_trainer_torchrun_np2_ok"}


def console_of(name):
    return sorted((CAPTURES / name).glob("*.raw"), reverse=True)  # stdout before stderr, where apart


def replay(paths, folder, size, console=None):
    """A reader that saw each file come in pieces of `size` bytes."""
    copies = [folder / path.name for path in paths]
    reader = ConsoleReader(copies, console)
    for path, copy in zip(paths, copies, strict=True):
        data = path.read_bytes()
        with copy.open("wb", buffering=0) as file:
            for start in range(0, len(data), size):
                file.write(data[start : start + size])
                reader.poll()
    reader.poll(ended=True)
    reader.close()
    return reader


def sizes(names):
    return [
        pytest.param(name, size, marks=[] if size == 4096 or (size == 7 and name in SMALL) else [pytest.mark.slow])
        for name in names
        for size in (1, 7, 4096)
    ]


def same(console, exact):
    """Whether a console value, printed with four digits by transformers 5, is the one of the file."""
    return math.isclose(console, exact, rel_tol=1e-3, abs_tol=1e-12) or (math.isnan(console) and math.isnan(exact))


@pytest.mark.parametrize(("name", "size"), sizes(WITH_METRICS))
def test_metrics_and_progress_of_the_console_equal_those_of_the_file(tmp_path, name, size):
    reader = replay(console_of(name), tmp_path, size)
    file = MetricsFile(CAPTURES / name / "logging.jsonl")
    file.poll(ended=True)
    wanted = [row for row in file.table.rows if row.kind != "summary"]
    rows = reader.table.rows
    if name in CONSOLE_ENDS_EARLY:
        assert 0 < len(rows) < len(wanted)
        wanted = wanted[: len(rows)]
    assert [(row.kind, row.step, row.total) for row in rows] == [(row.kind, row.step, row.total) for row in wanted]
    for row, exact in zip(rows, wanted, strict=True):
        assert row.values.keys() - {"total_flos"} == exact.values.keys() - {"total_flos"}
        assert all(same(value, exact.values[key]) for key, value in row.values.items() if key != "total_flos")
        assert (row.elapsed, row.remaining) == (exact.elapsed, exact.remaining)
    if "end" in file.table.last:
        end = file.table.last["end"]
        assert (reader.bar.current.step, reader.bar.current.total) == (end.step, end.total)
        assert "done" in reader.milestones.lines
    assert reader.milestones.facts["metrics_path"].endswith("/logging.jsonl")


@pytest.mark.parametrize(("name", "size"), sizes(["hf_trainer_torchrun_np2_ok", "accelerate_np2_ok"]))
def test_the_trainers_rows_get_their_step_from_its_bar(tmp_path, name, size):
    # transformers 5: no step in the dict, a bare bar, a nested bare bar for evaluation; logging 5, evaluation 10.
    reader = replay(console_of(name), tmp_path, size)
    rows = [(row.kind, row.step) for row in reader.table.rows]
    assert [step for kind, step in rows if kind == "train"] == [5, 10, 15, 20, 25, 30]
    assert [step for kind, step in rows if kind == "eval"] == [10, 20, 30]
    assert rows[-1][0] == "end"
    assert (reader.bar.current.step, reader.bar.current.total) == (30, 30)


@pytest.mark.parametrize("name", [*WITH_METRICS, "hf_trainer_torchrun_np2_ok", "accelerate_np2_ok"])
def test_the_training_bar_never_shows_another_ones_total(tmp_path, name):
    text = b"".join(path.read_bytes() for path in console_of(name)).decode("utf-8", "replace")
    bars = [bar for frame in text.replace("\r", "\n").split("\n") if (bar := read_bar(frame)) is not None]
    assert len({bar.total for bar in bars}) > 1, "the capture has noise bars"
    reader = replay(console_of(name), tmp_path, 4096)
    trainings = {bar.total for bar in bars if bar.description == "Train"} or {30}
    assert {reader.bar.current.total} == trainings


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_console_with_everything_glued_together(tmp_path, size):
    reader = replay([INPUTS / "L01.log"], tmp_path, size)
    assert [(row.step, row.total) for row in reader.table.rows] == [(1, 2046), (2, 2046)]
    assert math.isnan(reader.table.rows[1].values["grad_norm"])
    assert (reader.bar.current.step, reader.bar.current.total) == (3, 2046)  # no newline after it


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_what_torchrun_merges_is_told_apart_by_rank(tmp_path, size):
    reader = replay([INPUTS / "tee_np2.log"], tmp_path, size)
    losses = [row.values["loss"] for row in reader.table.rows]
    wanted = [float(f"{1 / n:.4g}") for n in range(1, 13)]
    assert losses == wanted
    assert (reader.bar.current.step, reader.bar.current.total) == (12, 12)
    assert reader.errors == {}


FAILED = {
    "accelerate_np2_rank1_raises": "[rank1]: Traceback",
    "ddp_np2_rank1_raises": "[rank1]: Traceback",
    "fail_oom_cuda_text_synthetic": "[rank1]: Traceback",
    "fail_port_in_use": "Traceback",
    "fail_rank1_raises": "[rank1]: Traceback",
    "fail_sigkill_rank1": "failed (exitcode: -9) local_rank: 1",
    "fail_sigterm_torchrun": "Traceback",
    "torchrun_missing_module": "failed (exitcode: 1)",
}


@pytest.mark.parametrize("name", FAILED)
def test_the_first_error_of_a_failed_run_is_found_at_its_line(tmp_path, name):
    reader = replay(console_of(name), tmp_path, 4096)
    (mark,) = reader.errors.values()
    assert FAILED[name] in mark.text
    line = console_of(name)[0].read_bytes().split(b"\n")[mark.line]
    assert FAILED[name].encode() in line
    assert "done" not in reader.milestones.lines


@pytest.mark.parametrize("name", [name for name in WITH_METRICS if name.endswith("ok") or "ok_" in name])
def test_a_run_that_went_well_has_no_error_line(tmp_path, name):
    assert replay(console_of(name), tmp_path, 4096).errors == {}


def test_plain_metric_lines_are_read_by_a_recipes_pattern(tmp_path):
    # ddp_np2_ok: a plain loop that prints one line per step.
    console = ConsoleFormat(metric_lines=(r"^step (?P<step>\d+)/(?P<total>\d+) (?P<pairs>.+)$",))
    reader = replay(console_of("ddp_np2_ok"), tmp_path, 100, console)
    assert [row.step for row in reader.table.rows] == list(range(1, 31))
    assert reader.table.rows[0].values == {"loss": 13.3465, "grad_norm": 7.208, "lr": 0.005}
    assert reader.table.total == 30
    tee = replay(console_of("ddp_np2_logdir_tee"), tmp_path, 100, console)
    assert [row.step for row in tee.table.rows] == list(range(1, 13))


def test_a_console_that_is_truncated_is_read_anew(tmp_path):
    path = tmp_path / "output.log"
    path.write_text("Train: 50%|██| 5/10 [00:05<00:05,  1.00s/it]\n{'loss': 1, 'global_step/max_steps': '5/10'}\n")
    reader = ConsoleReader([path])
    reader.poll()
    assert reader.table.count == 1
    path.write_text("{'loss': 2, 'global_step/max_steps': '1/3'}\n")
    reader.poll()
    reader.poll()
    assert [(row.step, row.total) for row in reader.table.rows] == [(1, 3)]
    assert reader.bar.current is None


@pytest.mark.parametrize(
    "line",
    [
        b"{'loss': 1, " + b"'key: value': 12, " * 3000 + b"}",
        b"[INFO:swift] Saving model checkpoint to x" + b" " * 60_000 + b"x",
        b"5%|" * 20_000,
        b"A" * 60_000 + b"Error: ",
        b"\x1b[" * 30_000 + b"%|",
        b"'loss': {'" * 6000,
    ],
)
def test_no_line_takes_a_pattern_more_than_linear_time(tmp_path, line):
    path = tmp_path / "output.log"
    path.write_bytes(line + b"\n")
    reader = ConsoleReader([path])
    started = time.process_time()
    reader.poll(ended=True)
    assert time.process_time() - started < 1


def test_a_giant_line_of_other_text_costs_no_time_and_no_memory(tmp_path):
    path = tmp_path / "output.log"
    with path.open("wb") as file:
        file.write(b"{'" * (3 << 20) + b"\nTrain: 50%|##| 5/10 [00:05<00:05,  1.00s/it]\n")
    reader = ConsoleReader([path])
    while reader.poll() or reader.behind:
        pass
    assert reader.bar.current.step == 5
