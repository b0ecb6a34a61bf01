import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry.chart_text import LABEL, MARK, chart_lines, chart_text, draw, format_value, frame_of, points_of
from prl_tui.telemetry.series import Series

# Unicode's braille patterns: column, row and bit of each dot.
BRAILLE = [(0, 0, 1), (0, 1, 2), (0, 2, 4), (1, 0, 8), (1, 1, 16), (1, 2, 32), (0, 3, 64), (1, 3, 128)]


def plot(values, width=40, height=6, start=1):
    points = points_of(Series.of(enumerate(values, start)))
    return draw(points, frame_of([points]), width, height)


def column_heights(rows, column):
    """Rows (from the top) in which a cell column has dots."""
    return [number for number, row in enumerate(rows) if row[column] != " "]


def test_a_spike_of_one_point_among_many_is_drawn():
    values = [1.0] * 10_000
    values[7321] = 50.0
    rows = plot(values).rows
    spike = [column for column, cell in enumerate(rows[0]) if cell != " "]
    assert spike == [7321 * 79 // 9999 // 2]
    assert column_heights(rows, spike[0]) == list(range(6))  # joined down to the line


def test_smallest_and_largest_of_each_column_are_kept():
    rows = plot([1.0, -1.0] * 5000).rows
    assert rows == ("⣿" * 40,) * 6


def test_values_that_are_not_finite_are_dropped_before_scaling_and_marked():
    values = [math.sin(step / 50) for step in range(1000)]
    broken = list(values)
    broken[500:600] = [math.nan] * 100
    broken[900] = math.inf
    whole, holed = plot(values), plot(broken)
    assert holed.marks == {*range(19, 24), 35}
    assert column_heights(holed.rows, 22) == []  # no line across
    assert holed.rows[0][:19] == whole.rows[0][:19]  # the same scale
    lines = chart_lines(Series.of(enumerate(broken)), 40 + LABEL + 1, 8)
    assert lines[0].count(MARK) == len(holed.marks)


def test_training_that_ends_in_nan_shows_where():
    values = [1.0] * 50 + [math.nan] * 50
    assert max(plot(values).marks) == 39


def test_few_points_are_joined_by_lines():
    rows = plot([0.0, 1.0], width=20, height=5).rows
    assert all(column_heights(rows, column) for column in range(20))
    assert rows[0].strip()
    assert rows[-1].strip()


@pytest.mark.parametrize(
    "values",
    [[2.0], [2.0] * 100, [0.0], [1e308, -1e308, 0.0], [5e-324, 0.0], [1e-300, 2e-300], [-0.0, 0.0]],
)
def test_any_finite_range_can_be_drawn(values):
    assert any(row.strip() for row in plot(values).rows)


def test_steps_not_order_decide_the_column_and_a_resume_may_go_back():
    curve = Series.of([(0, 0.0), (900, 1.0), (1000, 1.0)])
    points = points_of(curve)
    rows = draw(points, frame_of([points]), 20, 4).rows
    assert column_heights(rows, 1)[-1] == 3
    assert column_heights(rows, 18) == [0]
    again = Series.of([(0, 0.0), (1000, 1.0), (900, 1.0)])
    assert draw(points_of(again), frame_of([points_of(again)]), 20, 4).rows == rows


def test_labels_have_a_fixed_width_and_say_range_and_steps():
    lines = chart_text(Series.of([(1, 2.104), (10_580, 0.3)]), 40, 8, "loss").split("\n")
    assert lines[0].startswith("loss ")
    assert lines[0].endswith(" 0.3")
    assert lines[1].startswith("   2.104 ")
    assert lines[6].startswith("     0.3 ")
    assert lines[7] == f"{'':9}step 1{'':19}10,580"
    assert len(lines) == 8


@pytest.mark.parametrize(
    "value", [0.0331, -1.234567e-05, 1.5e300, -1.5e300, 123456789.0, -0.00004, math.nan, -math.inf]
)
def test_no_value_label_is_wider_than_its_place(value):
    assert len(format_value(value)) <= LABEL


def test_without_points_the_chart_says_so():
    assert "no points yet" in chart_text(Series.of([]), 40, 5, "loss")
    assert "nan" in chart_text(Series.of([(1, math.nan)]), 40, 5, "loss")


@settings(deadline=None, max_examples=60)
@given(
    points=st.lists(st.tuples(st.integers(0, 10**6), st.floats(allow_nan=True, allow_infinity=True)), max_size=80),
    width=st.integers(1, 60),
    height=st.integers(1, 12),
    title=st.sampled_from(["", "loss", "x" * 100]),
)
def test_any_series_in_any_size_gives_lines_of_just_that_size(points, width, height, title):
    lines = chart_lines(Series.of(points), width, height, title)
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}


@pytest.mark.parametrize("count", [2, 5, 30, 80, 500])
def test_the_line_has_no_gaps(count):
    chance = random.Random(count)
    rows = plot([chance.random() for _ in range(count)], width=40, height=6).rows
    dots = {
        (2 * column + x, 4 * row + y)
        for row, line in enumerate(rows)
        for column, cell in enumerate(line)
        for x, y, bit in BRAILLE
        if cell != " " and ord(cell) - 0x2800 & bit
    }
    for column in range(79):
        here = [y for x, y in dots if x == column]
        there = [y for x, y in dots if x == column + 1]
        assert here
        assert there
        assert min(there) <= max(here) + 1
        assert min(here) <= max(there) + 1


def test_every_finite_point_has_a_dot():
    chance = random.Random(5)
    values = [chance.uniform(-3, 8) for _ in range(500)]
    points = points_of(Series.of(enumerate(values)))
    frame = frame_of([points])
    rows = draw(points, frame, 100, 10).rows
    for step, value in enumerate(values):
        column = step * 199 // 499 // 2
        dot = round((frame.high - value) / (frame.high - frame.low) * 39)
        near = {min(9, max(0, (dot + off) // 4)) for off in (-1, 0, 1)}
        assert any(rows[row][column] != " " for row in near)
