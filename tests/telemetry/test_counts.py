"""Numbers that no training has, in a log: they are no steps, and nothing that reads the log raises for them.

The judge is Python itself: `array('q')` ends at 2**63, `int()` refuses more than 4,300 digits, a float ends at 1e308.
"""

from __future__ import annotations

import json

import pytest

from prl_tui.telemetry import counts
from prl_tui.telemetry.run_view import RunReader

GOOD = "Train:  10%|#####     | 3/30 [00:01<00:09, 1.0it/s]\n"
HUGE = "1" * 400
ENDLESS = "1" * 5000
LINES = [
    json.dumps({"loss": 0.5, "step": 2**64 - 1}),
    json.dumps({"loss": 0.5, "step": 1e300}),
    json.dumps({"loss": 0.5, "global_step/max_steps": f"{HUGE}/{HUGE}"}),
    json.dumps({"loss": 0.5, "global_step/max_steps": f"{ENDLESS}/10"}),
    json.dumps({"loss": 0.5, "iteration": f"3/{ENDLESS}"}),
    json.dumps({"loss": 0.5, "elapsed_time": f"{ENDLESS}s", "train_speed(iter/s)": HUGE}),
    f"{{'loss': 0.5, 'x': 0x{'f' * 4000}}}",
    '{"loss": 0.5, "a": ' * 900 + "1" + "}" * 900,
    f"Train:  50%|#####     | {HUGE}/10 [00:01<00:01, 1.0it/s]",
    f"Train:  50%|#####     | 3/{ENDLESS} [00:01<00:01, 1.0it/s]",
    f"Train:  50%|#####     | 3/30 [{ENDLESS}:00:01<{ENDLESS}:00:01, 1.0it/s]",
    f"Train:  50%|#####     | 3/30 [00:01<00:01, {HUGE}it/s]",
    "Train:  50%|#####     | 3/30 [00:01<00:01, 1.2.3it/s]",
    f"Epoch {ENDLESS}/{ENDLESS}:  50%|#####     | 3/30 [00:01<00:01, 1.0it/s]",
    f"Epoch {HUGE}:  50%|#####     | 3/30 [00:01<00:01, 1.0it/s]",
    f"[default{ENDLESS}]:{{'loss': 0.5}}",
    f"[INFO:swift] Saving model checkpoint to /out/checkpoint-{ENDLESS}",
]


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
@pytest.mark.parametrize("place", ["console", "metrics"])
def test_no_line_stops_the_reader_and_no_number_is_beyond_belief(tmp_path, line, place):
    log, metrics = tmp_path / "output.log", tmp_path / "logging.jsonl"
    log.write_text(GOOD)
    with (log if place == "console" else metrics).open("a") as file:
        file.write(line + "\n" + json.dumps({"loss": 0.25}) + "\n")
    reader = RunReader(log, metrics_path=metrics)
    reader.poll()
    view = reader.poll(ended=True)
    reader.close()
    assert view.progress is None or 0 <= view.progress.step <= view.progress.total <= counts.MOST
    assert view.last_row is not None
    assert view.last_row.values["loss"] == 0.25
    assert all(0 <= step <= counts.MOST for series in view.series.values() for step in series.steps())
    json.dumps([view.progress and (view.progress.eta_seconds, view.progress.seconds_per_step)], allow_nan=False)


@pytest.mark.parametrize(
    ("digits", "number"),
    [("0", 0), ("007", 7), ("1000000000000", 10**12), ("1000000000001", None), ("9" * 5000, None), ("0" * 5000, 0)],
)
def test_what_is_a_count(digits, number):
    assert counts.count(digits) == number
