"""Ranks and steps that do not exist. Judge of the ranks: the demo's own `Faults.check`, which every rank calls at its start."""

from __future__ import annotations

import pytest

from prl_tui.core import advice, catalog, checks
from prl_tui.core.config import Source, resolve
from prl_tui.demo.faults import Faults, FaultSwitches

DEMO = catalog.load(only="demo").recipes["demo"]


def config(**changes):
    return resolve(DEMO).with_values(changes, Source.SET)


def refused(nproc, **switches):
    try:
        Faults(FaultSwitches(**switches), 0).check(nproc)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("key", ["fail_rank", "hang_rank"])
@pytest.mark.parametrize(("nproc", "nnodes"), [(1, 1), (2, 1), (4, 1), (2, 2)])
def test_a_rank_is_refused_where_the_program_refuses_it(key, nproc, nnodes):
    for rank in range(6):
        one = config(nproc_per_node=nproc, nnodes=nnodes, master_addr="10.0.0.1", **{key: rank})
        report = checks.check(one)
        told = [finding for finding in report.findings if finding.code == "rank-beyond"]
        assert bool(told) is (not report.ok) is refused(nproc * nnodes, **{key: rank}), rank
        for finding in told:
            assert (finding.severity, finding.field) == ("error", key)
            assert f"{key} {rank} must be below the number of processes, {nproc * nnodes}" in finding.message
            assert finding.fixes
            for fix in finding.fixes:
                assert checks.check(one.with_values(fix.changes, Source.FIX)).ok, fix.changes


def test_the_last_process_is_the_first_way_out():
    report = checks.check(config(fail_rank=7))
    assert report.findings[0].fixes[0].changes == {"fail_rank": 1}


def test_two_ranks_that_do_not_exist_are_mended_together():
    one = config(fail_rank=7, hang_rank=5)
    report = checks.check(one)
    assert {finding.field for finding in report.findings if finding.severity == "error"} == {"fail_rank", "hang_rank"}
    assert report.first_fix is not None
    assert checks.check(one.with_values(report.first_fix.changes, Source.FIX)).ok


@pytest.mark.parametrize(("step", "rank"), [("fail_step", "fail_rank"), ("hang_step", "hang_rank")])
def test_a_step_after_the_end_is_a_warning_with_the_last_step(step, rank):
    one = config(max_steps=20, **{rank: 1, step: 21})
    (told,) = [finding for finding in checks.check(one).findings if finding.code == "step-beyond-end"]
    assert (told.severity, told.field, told.message) == (
        "warning",
        step,
        f"{step} 21 never comes: the run ends after step 20.",
    )
    assert [dict(fix.changes) for fix in told.fixes] == [{step: 20}]
    codes = {finding.code for finding in checks.check(one.with_values(told.fixes[0].changes, Source.FIX)).findings}
    assert "step-beyond-end" not in codes
    alone = checks.check(config(**{step: 3})).findings
    assert [finding.message for finding in alone] == [f"{step} 3 does nothing while {rank} is not set."]


PLAYED = {
    "fail": "Rank 1 raises an error at step {step}, on purpose: the run fails there.",
    "hang": "Rank 1 stops answering at step {step}, on purpose: the others wait for it.",
}


@pytest.mark.parametrize(("what", "words"), PLAYED.items())
def test_what_is_played_is_said_with_its_step(what, words):
    # The demo's own switches say which step it is where nobody does; tests/demo plays both with real ranks.
    first = getattr(FaultSwitches(), f"{what}_step")
    assert first == advice.FIRST
    for step in (None, 1, 30, 200):
        changes = {f"{what}_rank": 1} | ({f"{what}_step": step} if step else {})
        [note] = checks.check(config(**changes)).findings
        assert (note.code, note.severity, note.field) == ("played", "note", f"{what}_rank")
        assert note.message == words.format(step=step or first)
    for changes in (
        {f"{what}_rank": 1, f"{what}_step": 201},
        {f"{what}_rank": 2},
        {f"{what}_rank": 1, f"{what}_step": "x"},
    ):
        assert "played" not in {one.code for one in checks.check(config(**changes)).findings}
    assert checks.check(config()).findings == ()


def test_a_warm_up_that_never_ends_is_named_where_somebody_set_it():
    assert "warmup-beyond-end" not in {one.code for one in checks.check(config(max_steps=5)).findings}
    told = [
        one for one in checks.check(config(max_steps=50, warmup_steps=50)).findings if one.code == "warmup-beyond-end"
    ]
    assert [one.message for one in told] == [
        "The learning rate rises for 50 steps, and the run has 50: it never reaches its peak."
    ]
    assert "warmup-beyond-end" not in {one.code for one in checks.check(config(max_steps=50, warmup_steps=49)).findings}
