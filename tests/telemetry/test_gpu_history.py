"""The history file: rows that come back as they went, merged without losing what a person looks for, and bounded."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from prl_tui.telemetry import gpu_history
from prl_tui.telemetry.gpu_history import Header, Row, Writer

CARDS = Header("580.1", tuple((n, f"GPU-{n}", "H100", 80 << 30) for n in range(8)))
FULL = (97.0, 77900.0, 671.0, 61.0, 1980.0)


def row(at, util=97.0, memory=77900.0, temperature=61.0, disk=512000.0):
    return Row(at, 1.0, ((util, memory, 671.0, temperature, 1980.0),) * 8, (12.0, 40210.0, 33.0, disk))


def test_rows_come_back_under_the_header_that_they_were_written_for(tmp_path):
    path = tmp_path / "h"
    writer = Writer(path)
    writer.add(CARDS, row(1.0))
    writer.add(None, Row(2.0, 1.0, (), (12.0, None, 0.5, 7.0), "hung"))
    other = Header("580.1", CARDS.gpus[:1])
    writer.add(other, Row(3.0, 1.0, (None,), ()))
    assert list(gpu_history.read(path)) == [
        (CARDS, row(1.0)),
        (CARDS, Row(2.0, 1.0, (), (12.0, None, 0.5, 7.0), "hung")),
        (other, Row(3.0, 1.0, (None,), ())),
    ]
    assert [one.time for _, one in gpu_history.tail(path, 2)] == [2.0, 3.0]
    assert [one.time for _, one in gpu_history.read(path, since=2.5)] == [3.0]


def test_merged_rows_keep_the_mean_of_work_and_the_extremes_of_what_runs_out():
    quiet = Row(10.0, 3.0, ((0.0, 100.0, 70.0, 30.0, 200.0), None), (0.0, 1.0, 0.0, 900.0))
    busy = Row(
        13.0,
        1.0,
        ((100.0, 79000.0, 700.0, 85.0, 2000.0), (5.0, 1.0, 2.0, 3.0, None)),
        (40.0, 5.0, 8.0, 3.0, 9.0, 2.0),
        "hung",
    )
    both = gpu_history.merge([quiet, busy])
    assert (both.time, both.seconds, both.problem) == (10.0, 4.0, "hung")
    assert both.gpus[0] == (25.0, 79000.0, 227.5, 85.0, 650.0)
    assert both.gpus[1] == (5.0, 1.0, 2.0, 3.0, None)
    assert both.host == (10.0, 5.0, 2.0, 3.0, 9.0, 2.0), "a row of before had four of them"


def test_a_week_of_eight_gpus_stays_small_keeps_its_peaks_and_its_last_minutes_whole(tmp_path):
    path = tmp_path / "h"
    writer = Writer(path, largest=60_000, recent=60.0)
    count = 12_000
    for second in range(count):
        writer.add(CARDS, row(float(second), temperature=99.0 if second == 1234 else 61.0))
        assert path.stat().st_size <= 2 * 60_000
    rows = [one for _, one in gpu_history.read(path)]
    assert path.stat().st_size <= 61_000
    assert [one.time for one in rows[-50:]] == [float(count - 50 + n) for n in range(50)]
    assert sum(one.seconds for one in rows) == count, "no second is lost or told twice"
    assert [one.time for one in rows] == sorted(one.time for one in rows)
    assert max(one.gpus[0][3] for one in rows) == 99.0
    assert all(header == CARDS for header, _ in gpu_history.read(path))


def test_the_last_utilizations_are_those_of_each_gpu(tmp_path):
    writer = Writer(tmp_path / "h")
    for second in range(5):
        writer.add(CARDS, row(float(second), util=float(second)))
    writer.add(None, Row(5.0, 1.0, (), (), "hung"))
    found = gpu_history.utilizations(tmp_path / "h", 3)
    assert found.keys() == {f"GPU-{n}" for n in range(8)}
    assert found["GPU-7"] == [3, 4, None]


def test_a_gap_is_told_as_one_and_stays_one_when_old_rows_are_merged(tmp_path):
    """A recorder that was started again says so; a clock that was set forward makes no gap."""
    path = tmp_path / "history.jsonl"
    header = Header("570", ((0, "GPU-a", "H100", 1),))
    for begin, jump in ((100.0, 0.0), (160.0, 3600.0)):
        writer = Writer(path)
        for n in range(40):
            moment = begin + n + (jump if n >= 20 else 0.0)
            writer.add(header, Row(moment, 1.0, ((50, 1, 1, 1, 1),), begins=n == 0))
    rows = [row for _, row in gpu_history.read(path)]
    gaps = [round(row.gap(before)) for before, row in itertools.pairwise(rows)]
    assert [gap for gap in gaps if gap] == [20]
    assert rows[0].gap(None) == 0
    assert gpu_history.utilizations(path, 70)["GPU-a"].count(None) == 20
    thinner = Writer(path)
    thinner._step = 8.0
    thinner._thin(tmp_path / "thin", before=1e9)
    thin = [row for _, row in gpu_history.read(tmp_path / "thin")]
    assert len(thin) < 15
    assert [round(row.gap(before)) for before, row in itertools.pairwise(thin) if row.gap(before)] == [20]


def test_damaged_lines_are_left_out(tmp_path):
    path = tmp_path / "h"
    Writer(path).add(CARDS, row(1.0))
    with path.open("ab") as file:
        file.write(b'{"t": 2, "s"\n[]\n{"t": "x"}\nnull\n{"t": 5, "s": 1, "g": 7, "h": []}\n\xff\xfe\n')
        file.write(b'{"t": 1%s, "s": 1, "g": [], "h": []}\n["t"]\n' % (b"0" * 400))
        file.write(b'{"t": 6, "s": 1, "g": [[1%s, 1, 1, 1, 1]], "h": []}\n' % (b"0" * 400))
    Writer(path).add(CARDS, row(3.0))
    assert [one.time for _, one in gpu_history.read(path)] == [1.0, 3.0]
    assert list(gpu_history.read(tmp_path / "none")) == []


def test_what_cannot_be_written_is_lost_quietly(tmp_path):
    (tmp_path / "h").mkdir()
    Writer(tmp_path / "h").add(CARDS, row(1.0))
    Writer(tmp_path / "no" / "h").add(CARDS, row(1.0))


numbers = st.one_of(st.none(), st.floats(0, 1e6))
rows = st.builds(
    Row,
    st.floats(0, 1e9),
    st.floats(0.1, 100),
    st.lists(st.one_of(st.none(), st.tuples(*[numbers] * 5)), max_size=3).map(tuple),
    st.one_of(st.just(()), st.tuples(*[numbers] * 4)),
    st.sampled_from(["", "hung"]),
)


@given(st.lists(rows, min_size=1, max_size=8))
def test_merging_stands_for_all_of_the_time_and_stays_between_the_values(many):
    one = gpu_history.merge(many)
    assert abs(one.seconds - sum(row.seconds for row in many)) < 1e-6
    json.loads(one.line())
    for n in range(5):
        known = [row.gpus[0][n] for row in many if row.gpus and row.gpus[0] and row.gpus[0][n] is not None]
        if known:
            assert min(known) - 1e-6 <= one.gpus[0][n] <= max(known) + 1e-6
