"""What happens on the way, counted for programs that evaluate by their interval alone (this package's demo trainer)."""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import Source, resolve
from tests.built_in import RECIPES

DEMO = resolve(RECIPES["demo"], "two-ranks")


@pytest.mark.parametrize(("every", "wanted"), [(50, 4), (60, 3), (300, 0), (0, 0)])
def test_the_demo_trainer_evaluates_every_so_many_steps(every, wanted):
    config = DEMO.with_values({"eval_steps": every, "max_steps": 200}, Source.SET)
    assert checks.check(config).steps.evaluations == wanted
