"""Which curves are in sight, and that all of them can be reached."""

from __future__ import annotations

import pytest

from prl_tui.telemetry.series import Series
from prl_tui.tui.app import PrlApp
from prl_tui.tui.curves import charts, in_sight
from tests.tui.driving import screen, sees, wait_for

FOUND = {name: Series.of([(1, 1.0)]) for name in ("kl", "eval_loss", "reward", "loss", "grad_norm")}


def names(some):
    return [list(one) for one in some]


def test_losses_share_a_chart_the_recipes_come_next_and_then_all_others():
    found = charts(FOUND, ("loss", "reward", "absent"))
    assert names(found) == [["loss", "eval_loss"], ["reward"], ["kl"], ["grad_norm"]]
    assert names(charts({}, ("loss",))) == []


@pytest.mark.parametrize(("turned", "two", "one"), [
    (0, [["loss", "eval_loss"], ["reward"]], [["loss", "eval_loss"]]),
    (1, [["loss", "eval_loss"], ["kl"]], [["reward"]]),
    (3, [["loss", "eval_loss"], ["reward"]], [["grad_norm"]]),
])  # fmt: skip
def test_each_comes_into_sight_by_turns(turned, two, one):
    found = charts(FOUND, ("loss", "reward"))
    assert names(in_sight(found, turned, 2)) == two
    assert names(in_sight(found, turned, 1)) == one


def test_nothing_yet_and_one_alone():
    assert in_sight([], 3, 2) == [{}]
    assert names(in_sight(charts({"loss": FOUND["loss"]}, ()), 3, 2)) == [["loss"]]


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_bare_logs_reward_is_a_curve_and_2_shows_the_next(tmp_path, size):
    from prl_tui.runs import bare

    log = tmp_path / "grpo.log"
    log.write_text("".join(f"{{'loss': 0.{n}, 'reward': 0.4, 'kl': 0.1, 'epoch': {n}}}\n" for n in range(1, 9)))
    app = PrlApp(watch=bare.find(str(log), tmp_path))
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: app.screen.query("#curves"), "the watch screen")
        await pilot.press("2")
        if size[0] > 100:
            await wait_for(pilot, lambda: "reward" in str(list(app.screen.query_one("#second")._curves)), "the reward")
        for name in ("reward", "kl") if size[0] < 100 else ("kl", "reward"):
            await pilot.press("2")
            await wait_for(pilot, lambda name=name: f" {name} " in screen(app) or f"│{name} " in screen(app), name)
        await sees(pilot, "2  next curve")
