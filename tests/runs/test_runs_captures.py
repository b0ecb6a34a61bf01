"""Every capture of a real run, replayed into a run's folder and read as watch reads it.

Judged by the trainer's own `logging.jsonl`, by the exit code that a shell saw and by the captures' INDEX. The bytes
come singly, by seven, by 4096, and in the pieces and at the times in which they came; the reader looks after each.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from prl_tui.runs import overview
from prl_tui.runs.folder import RunFolder
from prl_tui.telemetry.run_view import RunReader
from tests.runs.helpers import write

CAPTURES = Path(__file__).parents[1] / "fixtures" / "engine_runs"
SAMPLES = Path(__file__).parents[1] / "fixtures" / "engine_samples"
NAMES = sorted(folder.name for folder in CAPTURES.iterdir() if folder.is_dir())
ORPHANED = {"fail_sigkill_torchrun", "fail_sigterm_wrapper_without_exec"}
"""The console ended before the ranks did, which wrote their rows on."""
TOLD = {"accelerate_np2_ok": 30, "accelerate_np2_rank1_raises": 30, "accelerate_np2_sigterm": 2000,
        "accelerate_port_in_use": 30, "accelerate_cpu_np2_runs_one_process": 30, "hf_trainer_torchrun_np2_ok": 30,
        "fail_no_use_cpu": 12}  # fmt: skip
"""Steps that a Trainer was told to make where no row says so; the others without a logging.jsonl never trained."""
BEGUN = 1_700_000_000.0


def timing(name):
    """`(seconds, stream, bytes)` as they came; empty where that was not recorded."""
    path = CAPTURES / name / "timing.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def output_of(name):
    """What the console shows: both streams in the order in which they came, where they were captured apart."""
    folder = CAPTURES / name
    if (folder / "console.raw").exists():
        return (folder / "console.raw").read_bytes()
    left = {stream: (folder / f"{stream}.raw").read_bytes() for stream in ("stdout", "stderr")}
    merged = b""
    for _, stream, size in timing(name):
        merged, left[stream] = merged + left[stream][:size], left[stream][size:]
    return merged + left["stdout"] + left["stderr"]


def pieces(name, size):
    """`(seconds since the start, bytes)`; `size` None: as they came."""
    data = output_of(name)
    sizes = [(second, size) for second, _, size in timing(name)] if size is None else []
    sizes = sizes or [(n, size or 4096) for n in range(-(-len(data) // (size or 4096)))]
    at = 0
    for second, many in sizes:
        yield second, data[at : at + many]
        at += many
    if at < len(data):
        yield sizes[-1][0], data[at:]


class Replay:
    """A run's folder that fills up, and every view on the way."""

    def __init__(self, root, name, size, metrics=False):
        self.name, self.now = name, BEGUN
        self.folder = RunFolder(root / "r1")
        self.folder.path.mkdir()
        write(self.folder, "run", {"id": "r1", "cwd": str(root)})
        file = self.folder.path / "logging.jsonl" if metrics else None
        reader = RunReader(self.folder.output, metrics_path=file, clock=lambda: self.now)
        rows = (CAPTURES / name / "logging.jsonl").read_bytes() if metrics else b""
        self.views = []
        with self.folder.output.open("wb", buffering=0) as out:
            for second, data in pieces(name, size):
                self.now = BEGUN + second
                out.write(data)
                if file is not None:  # written as fast as the console, cut anywhere
                    with file.open("ab") as more:
                        more.write(rows[: len(data)])
                    rows = rows[len(data) :]
                view = reader.poll()
                if not self.views or view is not self.views[-1]:
                    self.views.append(view)
        if file is not None:
            with file.open("ab") as more:
                more.write(rows)
        self.view = reader.poll(ended=True)
        self.rows = reader.newest(10_000)
        reader.close()
        self.views.append(self.view)

    @property
    def state(self):
        """What the list of runs and watch call it, with the exit record that a supervisor would have left."""
        code = int((CAPTURES / self.name / "exit_code").read_text())
        write(self.folder, "exit", {"exit_code": code, "ended": self.now})
        return overview.describe(self.folder, self.view).status.state


def truth(name):
    """The trainer's rows, without its closing summary: `(step, total, values)`, read by json alone."""
    path = CAPTURES / name / "logging.jsonl"
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        where = row.pop("global_step/max_steps", None)
        if where is not None:
            step, total = map(int, where.split("/"))
            numbers = {key: float(value) for key, value in row.items() if isinstance(value, (int, float))}
            found.append((step, total, numbers))
    return found


def close(shown, exact):
    """transformers 5 prints four digits."""
    return math.isclose(shown, exact, rel_tol=1e-3, abs_tol=1e-12) or (math.isnan(shown) and math.isnan(exact))


def sizes(names, quick=(4096, None)):
    names = list(names)
    return [
        pytest.param(name, size, marks=[] if size in quick else [pytest.mark.slow], id=f"{name}-{size or 'as-it-came'}")
        for name in names
        for size in (1, 7, 4096, None)
    ]


WITH_METRICS = [name for name in NAMES if truth(name)]


@pytest.mark.parametrize(("name", "size"), sizes(NAMES))
def test_metrics_progress_and_state_are_those_of_the_run(tmp_path, name, size):
    run, wanted = Replay(tmp_path, name, size), truth(name)
    if wanted:
        rows = [row for row in run.rows if row.kind != "summary"]
        assert len(rows) == len(wanted) or (name in ORPHANED and 0 < len(rows) < len(wanted))
        for row, (step, total, exact) in zip(rows, wanted, strict=False):
            assert (row.step, row.total) == (step, total)
            assert all(close(value, exact[key]) for key, value in row.values.items() if key in exact)
            assert {"loss", "eval_loss"} & exact.keys() <= row.values.keys()
        progress = run.view.progress
        assert progress.total == wanted[0][1]
        assert progress.step in (rows[-1].step, rows[-1].step + 1), "a step that its bar shows may have no row yet"
    only_trainings(run.views, {total for _, total, _ in wanted} | {TOLD.get(name, 0)})
    if (CAPTURES / name / "exit_code").exists():
        code = int((CAPTURES / name / "exit_code").read_text())
        trained = "done" in run.view.phase
        assert run.state == ("finished" if code == 0 else "finished-with-exit-error" if trained else "failed")


def only_trainings(views, totals):
    """Progress never showed another bar's total (shards, weights, evaluation), and never went back."""
    seen = [view.progress for view in views if view.progress is not None]
    assert {one.total for one in seen} - {None, 0} <= totals
    steps = [one.step for one in seen]
    assert steps == sorted(steps)
    assert all(one.step <= one.total for one in seen if one.total)


@pytest.mark.parametrize("name", WITH_METRICS)
def test_with_its_metrics_file_beside_it_the_rows_are_exact(tmp_path, name):
    run = Replay(tmp_path, name, 4096, metrics=True)
    assert run.view.metrics_source == "file"
    rows = [row for row in run.rows if row.kind != "summary"]
    assert [(row.step, row.total) for row in rows] == [(step, total) for step, total, _ in truth(name)]
    for row, (_, _, exact) in zip(rows, truth(name), strict=True):
        assert all(value == exact[key] or math.isnan(value) for key, value in row.values.items() if key in exact)
    only_trainings(run.views, {total for _, total, _ in truth(name)})


SAMPLE_STEPS = {
    "swift452_dpo_console": "swift452_dpo_logging",
    "swift452_grpo_2rank_console": "swift452_grpo_logging",
    "swift452_rm_console": "swift452_rm_logging",
    "swift452_sft_1proc_console": "swift452_sft_logging",
}


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("name", SAMPLE_STEPS)
def test_consoles_of_an_older_engine_too(tmp_path, name, size):
    path, data = tmp_path / "output.log", (SAMPLES / f"{name}.log").read_bytes()
    reader, views = RunReader(path), []
    with path.open("wb", buffering=0) as out:
        for at in range(0, len(data), size):
            out.write(data[at : at + size])
            views.append(reader.poll())
    views.append(reader.poll(ended=True))
    wanted = [
        tuple(map(int, row["global_step/max_steps"].split("/")))
        for row in map(json.loads, (SAMPLES / f"{SAMPLE_STEPS[name]}.jsonl").read_text("utf-8").splitlines())
        if "global_step/max_steps" in row
    ]
    rows = [(row.step, row.total) for row in reader.newest(10_000) if row.kind != "summary"]
    assert rows == wanted
    only_trainings(views, {wanted[0][1]})
    reader.close()
