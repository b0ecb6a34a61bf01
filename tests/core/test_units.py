"""A unit's word behind 1 and behind any other number; every unit of what ships has both, as far as English tells them apart."""

from __future__ import annotations

import pytest

from prl_tui import i18n
from prl_tui.core.recipe import Text
from tests.built_in import RECIPES

SAME = {"", "s", "of a GPU"}
"""Units with one word for every number."""


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_every_unit_has_a_word_for_one(recipe: str) -> None:
    for field in RECIPES[recipe].fields:
        unit = field.unit
        assert bool(unit.one) is (unit.en not in SAME), field.key
        if unit.one:
            assert unit.one != unit.en
            assert unit.en.startswith(unit.one)


def test_the_word_follows_the_number() -> None:
    steps = Text(en="steps", zh="步", one="step")
    assert [steps.counted(text) for text in ("1", "2", "0", "", "11")] == ["step", "steps", "steps", "steps", "steps"]
    assert Text(en="s", zh="秒").counted("1") == "s"
    i18n.set_language("zh")
    try:
        assert steps.counted("1") == "步"
    finally:
        i18n.set_language("en")
