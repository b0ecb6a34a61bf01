"""The log shapes that a run's record keeps, read back."""

from __future__ import annotations

import pytest

from prl_tui.core.recipe import Outputs
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
