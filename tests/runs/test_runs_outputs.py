"""The log shapes that a run's record keeps, read back."""

from __future__ import annotations

import pytest

from prl_tui.core.recipe import Outputs
from prl_tui.runs import overview
from prl_tui.runs.plans import outputs_of


@pytest.mark.parametrize(
    "kept",
    [
        {"metric_lines": ["((("]},
        {"anchors": [{"key": "ready", "pattern": "[a"}]},
        {"anchors": [{"key": "ready"}]},
        {"metric_lines": "loss"},
        [],
        None,
    ],
)
def test_a_record_with_shapes_that_cannot_be_used_is_read_with_the_usual_ones(kept: object) -> None:
    assert outputs_of({"outputs": kept}) == Outputs()


def test_a_good_record_keeps_its_own() -> None:
    assert outputs_of({"outputs": {"metric_lines": ["(?P<loss>.*)"]}}).metric_lines == ("(?P<loss>.*)",)


def test_a_run_that_ended_is_read_to_its_very_last_row(forged) -> None:
    # A row waits for the bar behind it, which tells its step; behind the last one comes none.
    folder = forged(exit={"exit_code": 0, "started": 1.0, "ended": 2.0})
    (folder.path / "output.log").write_text(" 50%|█ | 1/2 [00:01<00:01, 1.00it/s]\r{'loss': 2.0}\n{'loss': 1.0}\n")
    view = overview.overview(folder).view
    assert (view.rows, view.last_row.values["loss"]) == (2, 1.0)
