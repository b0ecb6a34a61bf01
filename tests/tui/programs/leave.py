"""The app without a terminal, with a disk that hangs for one reader: `leave.py MODULE NAME KEYS…`; says when it got `q`."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time

from prl_tui.machine import paths
from prl_tui.runs import store
from prl_tui.tui.app import PrlApp

HANGS = 20.0
module, name, place, *keys = sys.argv[1:]
asked = []


def hang(*_, **__):
    asked.append(name)
    time.sleep(HANGS)


async def type_and_leave(pilot):
    while not pilot.app.screen_stack or not getattr(pilot.app.screen, "PARTS", ()) or not pilot.app.screen.takes_keys():
        await asyncio.sleep(0.02)
    while place == "configure" and pilot.app.screen.session.facts is None:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    owner = importlib.import_module(module)
    *parts, last = name.split(".")
    for part in parts:
        owner = getattr(owner, part)
    setattr(owner, last, hang)
    for key in keys:
        await pilot.press(key)
    until = time.monotonic() + 10
    while not asked and time.monotonic() < until:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.1)
    print("asked" if asked else "not asked", time.time(), flush=True)
    pilot.app.simulate_key("q")


run = store.find(paths.runs_dir(), store.LAST)
app = {
    "configure": PrlApp,
    "runs": lambda: PrlApp(runs_root=paths.runs_dir()),
    "watch": lambda: PrlApp(watch=run),
}[place]()
app.run(headless=True, size=(120, 40), auto_pilot=type_and_leave)
