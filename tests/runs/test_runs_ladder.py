"""Which signal is due when, on a clock that the test holds."""

from __future__ import annotations

from prl_tui.runs.ladder import INTERRUPT, KILL, NONE, TERMINATE, Ladder
from prl_tui.runs.stop import Grace


def climb(steps, until):
    """Every (second, stage) up to a moment, in steps of a tenth of a second."""
    seen = []
    for tenth in range(round(until * 10) + 1):
        while (stage := steps.due(tenth / 10)) != NONE:
            seen.append((tenth / 10, stage))
    return seen


def test_nothing_is_due_until_somebody_asks():
    assert climb(Ladder(), 100) == []


def test_int_then_term_then_kill_each_second():
    steps = Ladder()
    steps.ask(0, interrupt=2, terminate=3)
    assert climb(steps, 7) == [(0, INTERRUPT), (2, TERMINATE), (5, KILL), (6, KILL), (7, KILL)]


def test_no_grace_for_int_starts_with_term():
    steps = Ladder()
    steps.ask(0, interrupt=0, terminate=3)
    assert climb(steps, 3) == [(0, TERMINATE), (3, KILL)]


def test_no_grace_at_all_kills_at_once():
    steps = Ladder()
    steps.ask(0, interrupt=0, terminate=0)
    assert climb(steps, 1) == [(0, TERMINATE), (0, KILL), (1, KILL)]


def test_the_default_outlasts_torchruns_own_thirty_seconds():
    assert Grace().terminate > 30
    assert Grace().total == 45
    steps = Ladder()
    steps.ask(0, Grace().interrupt, Grace().terminate)
    assert climb(steps, 45) == [(0, INTERRUPT), (10, TERMINATE), (45, KILL)]


def test_asking_again_shortens_the_stage_that_runs():
    steps = Ladder()
    steps.ask(0, interrupt=60, terminate=60)
    assert climb(steps, 1) == [(0, INTERRUPT)]
    steps.ask(1, interrupt=1, terminate=2)
    steps.ask(1, interrupt=600, terminate=600)
    assert climb(steps, 3) == [(1, TERMINATE), (3, KILL)]


def test_what_the_leader_leaves_behind_has_two_seconds_then_term_then_kill():
    steps = Ladder()
    steps.leader_gone(0)
    steps.leader_gone(1)
    assert climb(steps, 12) == [(2, TERMINATE), (12, KILL)]


def test_a_leader_that_int_ended_shortens_the_wait_for_the_rest():
    steps = Ladder()
    steps.ask(0, interrupt=60, terminate=60)
    assert climb(steps, 2) == [(0, INTERRUPT)]
    for moment in (2, 3, 4):
        steps.leader_gone(moment)
    assert climb(steps, 7) == [(7, TERMINATE)]


def test_a_stop_while_strays_are_waited_for_hurries_them():
    steps = Ladder()
    steps.leader_gone(0)
    steps.ask(1, interrupt=10, terminate=1)
    assert climb(steps, 3) == [(2, TERMINATE), (3, KILL)]
