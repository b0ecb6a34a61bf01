import math

import pytest
from textual.app import App
from textual.geometry import Region

from prl_tui.telemetry.chart_text import LABEL, MARK, chart_lines
from prl_tui.telemetry.series import Series, SeriesBuffer
from prl_tui.tui.widgets.chart import LineChart
from tests.tui.driving import wait_for


class ChartApp(App):
    def __init__(self, chart):
        super().__init__()
        self.chart = chart

    def compose(self):
        yield self.chart


def shown(chart):
    strips = chart.render_lines(Region(0, 0, chart.size.width, chart.size.height))
    assert {strip.cell_length for strip in strips} == {chart.size.width}
    return [strip.text for strip in strips]


def colours(chart, row):
    strip = chart.render_lines(Region(0, row, chart.size.width, 1))[0]
    return [(segment.text, segment.style.color) for segment in strip if segment.text.strip()]


async def test_one_series_is_drawn_as_the_headless_chart_is():
    curve = Series.of((step, math.exp(-step / 300)) for step in range(1, 1001))
    chart = LineChart()
    async with ChartApp(chart).run_test(size=(80, 20)) as pilot:
        chart.set_series({"loss": curve})
        await pilot.pause()
        assert shown(chart)[1:] == chart_lines(curve, 80, 20, "loss")[1:]
        assert shown(chart)[0].split() == ["loss", "0.03567"]


async def test_without_points_it_says_so_and_later_draws():
    buffer = SeriesBuffer()
    chart = LineChart("loss")
    async with ChartApp(chart).run_test(size=(60, 8)) as pilot:
        assert "no points yet" in shown(chart)[0]
        chart.set_series({"loss": buffer.view()})
        await pilot.pause()
        assert "no points yet" in shown(chart)[0]
        for step in range(10):
            buffer.append(step, float(step))
        chart.set_series({"loss": buffer.view()})
        await pilot.pause()
        assert shown(chart)[-1].split() == ["step", "0", "9"]


async def test_the_same_series_again_draws_nothing():
    view = Series.of([(1, 1.0), (2, 2.0)])
    chart = LineChart("loss")
    async with ChartApp(chart).run_test(size=(60, 8)) as pilot:
        chart.set_series({"loss": view})
        await pilot.pause()
        drawn = []
        chart._draw = lambda *size: drawn.append(size) or iter(())
        chart.set_series({"loss": view})
        chart.refresh()
        await pilot.pause()
        assert drawn == []
        chart.set_series({"loss": Series.of([(1, 1.0), (2, 2.0), (3, 3.0)])})
        await pilot.pause()
        assert drawn == [(60, 8)]


async def test_two_series_share_axes_and_have_their_own_colours():
    train = Series.of((step, 2.0) for step in range(100))
    evaluation = Series.of([(0, 1.0), (100, 1.0)])
    chart = LineChart()
    async with ChartApp(chart).run_test(size=(60, 8)) as pilot:
        chart.set_series({"loss": train, "eval_loss": evaluation})
        await pilot.pause()
        rows = shown(chart)
        assert rows[0].split() == ["loss", "eval_loss", "2", "1"]
        upper, lower = colours(chart, 1)[-1], colours(chart, 6)[-1]
        assert set(upper[0].strip()) == {"⠉"}
        assert set(lower[0].strip()) == {"⣀"}
        assert upper[1] != lower[1]


async def test_values_that_are_not_finite_are_marked_in_another_colour():
    chart = LineChart("loss")
    async with ChartApp(chart).run_test(size=(60, 8)) as pilot:
        chart.set_series({"loss": Series.of([(1, 1.0), (50, math.nan), (100, 2.0)])})
        await pilot.pause()
        row = shown(chart)[1]
        assert row.count(MARK) == 1
        parts = dict(colours(chart, 1))
        assert parts[MARK] not in [colour for text, colour in parts.items() if text != MARK]


@pytest.mark.parametrize(
    "title", ["[/INST]", "[bold]loss", "\x1b[2J\x1b]0;pwn\x07loss", "损失 👩\u200d🔬\ufe0f", "\u202eloss"]
)
async def test_a_hostile_name_is_text(title):
    chart = LineChart(title)
    async with ChartApp(chart).run_test(size=(60, 6)) as pilot:
        chart.set_series({title: Series.of([(1, 1.0)])})
        await pilot.pause()
        heading = shown(chart)[0]
        assert not any(ord(letter) < 32 for letter in heading)
        if title.startswith("["):
            assert heading.startswith(title)
        chart.set_title("")
        await pilot.pause()
        shown(chart)


async def test_nothing_moves_when_values_change():
    chart = LineChart("loss")
    async with ChartApp(chart).run_test(size=(60, 8)) as pilot:
        edges = set()
        for value in (1.0, 1e-9, -123456.789, 5e300):
            chart.set_series({"loss": Series.of([(1, 0.0), (2, value)])})
            await pilot.pause()
            rows = shown(chart)
            edges.add((rows[7].index("step"), rows[1][:LABEL].strip() != "", rows[1][LABEL]))
        assert edges == {(LABEL + 1, True, " ")}


@pytest.mark.parametrize("size", [(1, 1), (10, 3), (17, 4), (200, 2)])
async def test_a_small_place_is_no_crash(size):
    chart = LineChart("loss")
    async with ChartApp(chart).run_test(size=size) as pilot:
        chart.set_series({"loss": Series.of([(1, 1.0), (5, 2.0)])})
        await pilot.pause()
        shown(chart)


async def test_a_resize_draws_anew():
    chart = LineChart("loss")
    async with ChartApp(chart).run_test(size=(60, 8)) as pilot:
        chart.set_series({"loss": Series.of([(1, 1.0), (5, 2.0)])})
        await pilot.pause()
        await pilot.resize_terminal(100, 12)
        await wait_for(pilot, lambda: chart.size == (100, 12), "its new size")
        await pilot.pause()
        rows = shown(chart)
        assert len(rows) == 12
        assert rows[-1].rstrip().endswith("5")
        assert len(rows[-1]) == 100
