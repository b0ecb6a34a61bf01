"""The row of logs: what has no room is grouped, the odd ones stay in sight."""

from __future__ import annotations

import pytest

from prl_tui.tui.widgets.log_tabs import LogTab, LogTabs, arranged


def tabs(count, **signs):
    ranks = [LogTab(f"r{rank}", rank, sign=signs.get(f"r{rank}", "")) for rank in range(count)]
    return [LogTab("all", None), *ranks, LogTab("launcher", None, own=True)]


def texts(entries):
    return [entry.text for entry in entries]


@pytest.mark.parametrize(
    ("count", "active", "signs", "row"),
    [
        (4, 1, {}, "all|r0|r1|r2|r3|launcher"),
        (4, 1, {"r2": "!"}, "all|r0|r1|r2 !|r3|launcher"),
        (16, 0, {}, "all|r0–3|r4–7|r8–11|r12–15|launcher"),
        (16, 6, {"r9": "!"}, "all|r0–7|r5|r8–15|r9 !|launcher"),
        (64, 0, {"r40": "?"}, "all|r0–31|r32–63|r40 ?|launcher"),
        (64, 65, {f"r{n}": "!" for n in range(32, 64)}, "all|r0–31|r32–63 !|launcher"),
        (18, 17, {}, "all|r0–7|r8–15|r16–17|r16|launcher"),
    ],
)
def test_ranks_stand_in_groups_where_there_is_no_room_for_each(count, active, signs, row):
    assert "|".join(texts(arranged(tabs(count, **signs), active, 51))) == row


def test_each_entry_leads_to_its_log_and_a_group_to_its_first():
    every = tabs(16, r8="!")
    entries = {entry.text: every[entry.index].rank for entry in arranged(every, 1, 51)}
    assert entries == {"all": None, "r0–7": 1, "r0": 0, "r8–15": 9, "r8 !": 8, "launcher": None}


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1000])
def test_every_number_of_ranks_is_arranged_and_the_active_one_is_there(count):
    for active in (0, 1, count, count + 1):
        entries = arranged(tabs(count), active, 51)
        assert active in [entry.index for entry in entries]
        assert len({entry.index for entry in entries}) == len(entries)


def test_from_entry_to_entry_the_group_of_the_active_one_is_passed_over(monkeypatch):
    row = LogTabs()
    row.tabs = tabs(16, r9="!")
    monkeypatch.setattr(LogTabs, "entries", property(lambda self: arranged(self.tabs, self.active, 51)))
    for by, ranks in ((1, [8, 9, None, None, 0]), (-1, [None, None, 9, 0])):
        row.active = 1
        found = []
        for _ in ranks:
            row.active = row.beside(by)
            found.append(row.tabs[row.active].rank)
        assert found == ranks
