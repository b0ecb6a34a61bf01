"""How long a key takes that filters the list of runs, beside the same key where there is one run.

python tests/bench/bench_runs_filter.py [--runs 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from textual import events

from prl_tui.machine import paths
from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.runs import RunsScreen

RECIPES = (("prl-grpo", "standard-4gpu"), ("swift-sft", "small"), ("demo", "two-ranks"), ("custom", "mine"))
TYPED = "grpo/standard"
LOG = b"".join(b"{'loss': %.4f, 'epoch': 0.1, 'global_step/max_steps': '%d/200'}\n" % (2 / n, n) for n in range(1, 200))


def write(root, runs):
    """Run folders as ended runs leave them."""
    for n in range(runs):
        folder = root / f"{n:05d}a"
        folder.mkdir(parents=True)
        recipe, preset = RECIPES[n % len(RECIPES)]
        began = 1.7e9 + n
        place = {"host": "box", "boot_id": "b", "pid_namespace": "n"}
        info = {"schema": 1, "created": began, "recipe": recipe, "preset": preset, "cwd": f"/jobs/exp{n % 50}", **place}
        code = {"schema": 1, "exit_code": n % 3 and 0, "started": began, "ended": began + 60, "seconds": 60.0}
        (folder / "run.json").write_text(json.dumps(info))
        (folder / "exit.json").write_text(json.dumps(code))
        (folder / "output.log").write_bytes(LOG)


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


async def measure(runs):
    """Seconds until all are listed, and of each key until what it did is drawn: while they are read, and afterwards."""
    app = PrlApp()
    async with app.run_test(size=(160, 45)) as pilot:
        app.action_go("runs")
        await until(lambda: isinstance(app.screen, RunsScreen) and app.screen.takes_keys())
        screen, began = app.screen, time.monotonic()
        await pilot.press("slash")
        reading, after = [], []
        while len(screen.rows.every) < runs:
            reading += await keys(app, screen)
        listed = time.monotonic() - began
        for _ in range(5):
            after += await keys(app, screen)
        return listed, reading, after


async def keys(app, screen):
    """Type the text and take it away again, a key each 50 ms."""
    took = []
    for key in (*TYPED, *["backspace"] * len(TYPED)):
        began, text = time.perf_counter(), screen.query_one("#finder").value
        app.post_message(events.Key(key, key if len(key) == 1 else None))
        while screen.query_one("#finder").value == text or screen.rows.text != screen.query_one("#finder").value:
            await asyncio.sleep(0)
        screen._compositor.render_strips(app.size)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0.05)
    return took


def told(name, values):
    values = sorted(values)
    p95 = values[int(0.95 * (len(values) - 1))]
    print(
        f"{name:34} {1e3 * statistics.median(values):7.1f} ms median {1e3 * p95:7.1f} p95 {1e3 * values[-1]:7.1f} most"
    )
    return statistics.median(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()
    medians = []
    for runs in (1, options.runs):
        with tempfile.TemporaryDirectory() as home:
            os.environ.update({f"XDG_{name}_HOME": home for name in ("STATE", "CACHE", "CONFIG")})
            write(paths.runs_dir(), runs)
            os.chdir(Path(home))
            listed, reading, after = asyncio.run(measure(runs))
            print(f"{runs} runs, all listed {listed:.1f} s after /")
            if reading:
                told("  a key while they are read", reading)
            medians.append(told("  a key", after))
            os.chdir("/")
    print(f"a key among {options.runs} runs beside one run: {medians[1] / medians[0]:.2f}")


if __name__ == "__main__":
    main()
