"""The pace that an earlier run lends to a new one, from the metrics of real run folders (ms-swift 4.x's logging.jsonl)."""

from __future__ import annotations

import json

import pytest

from prl_tui.core import catalog
from prl_tui.core.config import resolve
from prl_tui.runs import history, records
from prl_tui.runs.store import make_folder

DEMO = resolve(catalog.load().recipes["demo"], "two-ranks")


def a_run(root, steps):
    folder = make_folder(root)
    out = folder.path / "out"
    out.mkdir()
    rows = [
        {"loss": 2.0, "global_step/max_steps": f"{step}/200", "elapsed_time": f"{step * 3}s", "train_speed(s/it)": 3.0}
        for step in range(1, steps + 1)
    ]
    (folder.path / "logging.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    bar = "".join(f"\rTrain:  1%|#| {step}/200 [00:{3 * step:02d}<09:00,  3.00s/it]" for step in range(1, steps + 1))
    (folder.path / "output.log").write_text(bar + "\n")
    info = {"recipe": "demo", "nproc": 2, "cwd": str(folder.path)}
    (folder.path / "run.json").write_text(json.dumps({"schema": records.SCHEMA, "created": 1.0, **info}))
    return folder


@pytest.mark.parametrize(("steps", "known"), [(1, False), (2, False), (9, False), (10, True), (15, True)])
def test_a_run_that_did_hardly_a_step_lends_no_pace(tmp_path, steps, known):
    folder = a_run(tmp_path, steps)
    pace, source = history.pace(tmp_path, DEMO)
    assert (pace is not None, source) == (known, folder.id if known else "")
