"""How long one redraw of a chart of 200 x 20 cells takes, beside plotext where that is installed.

python tests/bench/bench_chart.py
"""

from __future__ import annotations

import math
import random
import time

from prl_tui.telemetry.chart_text import chart_text
from prl_tui.telemetry.series import Series

WIDTH, HEIGHT = 200, 20


def curve(count):
    chance = random.Random(0)
    return [3 * math.exp(-step / (count / 3)) + chance.gauss(0, 0.05) for step in range(count)]


def best_ms(draw, times):
    draw()
    taken = []
    for _ in range(times):
        started = time.process_time()
        draw()
        taken.append(time.process_time() - started)
    return min(taken) * 1e3


def plotext_ms(values):
    """Milliseconds of plotext with braille points, or None where it is not installed."""
    try:
        import plotext
    except ImportError:
        return None

    def draw():
        plotext.clear_figure()
        plotext.plotsize(WIDTH, HEIGHT)
        plotext.plot(values, marker="braille")
        plotext.build()

    return best_ms(draw, 3)


def main():
    for count in (1000, 10_000, 30_000):
        values = curve(count)
        series = Series.of(enumerate(values))
        own = best_ms(lambda series=series: chart_text(series, WIDTH, HEIGHT), 30)
        other = plotext_ms(values)
        beside = "plotext is not installed" if other is None else f"plotext {other:6.1f} ms   {other / own:5.1f} x"
        print(f"{count:6,} points   own {own:5.2f} ms   {beside}")
    broken = curve(10_000)
    broken[4000:5000] = [math.nan] * 1000
    series = Series.of(enumerate(broken))
    print(f"10,000 points, 1,000 of them NaN   own {best_ms(lambda: chart_text(series, WIDTH, HEIGHT), 30):.2f} ms")


if __name__ == "__main__":
    main()
