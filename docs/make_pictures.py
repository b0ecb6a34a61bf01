"""Draws the pictures of README from the real screens: `python docs/make_pictures.py [FOLDER]`.

Needs the demo extra, and rsvg-convert with a CJK font for the PNG files. Each picture is the running app, driven
by its own keys; the watch screen shows a real two-rank run.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = ((160, 45), (80, 24))


async def configure(folder: Path, size: tuple[int, int], language: str) -> None:
    """A value that breaks divisibility, and its way out."""
    from prl_tui.core import catalog
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session

    app = PrlApp(session=Session.begin(catalog.load(), "prl-grpo", "standard-4gpu"))
    async with app.run_test(size=size) as pilot:
        await settled(pilot, lambda: bool(app.screen.query("#settings")) and app.session.facts is not None)
        await pilot.press("down", "down", "3", "enter")
        await pilot.pause()
        save(app, folder / f"configure-{size[0]}x{size[1]}-{language}.svg")


async def watch(folder: Path, size: tuple[int, int], language: str, steps: int) -> None:
    """A run past its first checkpoint."""
    from prl_tui.cli import demo
    from prl_tui.core import plan
    from prl_tui.machine import paths
    from prl_tui.runs import launcher, plans, stop
    from prl_tui.tui.app import PrlApp

    config = demo.config(["max_steps=400", "save_steps=20", "eval_steps=20"])
    run = launcher.start(paths.runs_dir(), plans.job(plan.build(config), Path.cwd()))
    app = PrlApp(watch=run)
    async with app.run_test(size=size) as pilot:

        def far_enough() -> bool:
            one = app.run_feed(run).latest()
            return one is not None and one.view.progress is not None and one.view.progress.step >= steps

        await settled(pilot, far_enough, 120)
        await pilot.pause(0.6)
        save(app, folder / f"watch-{size[0]}x{size[1]}-{language}.svg")
        stop.stop(run, by="pictures")
    stop.wait(run, 60)


async def settled(pilot: object, ready: object, seconds: float = 20) -> None:
    """Wait until the screen is ready."""
    for _ in range(int(seconds * 10)):
        if ready():  # type: ignore[operator]
            return
        await pilot.pause(0.1)  # type: ignore[attr-defined]
    raise TimeoutError("the screen did not get ready")


def save(app: object, path: Path) -> None:
    """The screen as SVG, and as PNG where rsvg-convert is installed."""
    path.write_text(_shifted(app.export_screenshot(title=" ")), "utf-8")  # type: ignore[attr-defined]
    if shutil.which("rsvg-convert"):
        subprocess.run(["rsvg-convert", "-z", "1.0", "-o", path.with_suffix(".png"), path], check=True)
    print(path)


def _shifted(svg: str) -> str:
    """Leading blanks as a shift of x: librsvg drops them."""

    def one(match: re.Match[str]) -> str:
        head, x, tail, blanks, text = match.groups()
        count = len(blanks) // len("&#160;")
        return f'{head}x="{float(x) + count * CELL:g}"{_LENGTH.sub("", tail)}>{text}<'

    return re.sub(r'(<text [^>]*?)x="([\d.]+)"([^>]*)>((?:&#160;)*)([^<]*)<', one, svg)


CELL = 12.2
_LENGTH = re.compile(r' textLength="[\d.]+"')


def main() -> None:
    """Every picture in both languages."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[2:] or ["configure", "watch"]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(XDG_STATE_HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
        os.environ.pop("NO_COLOR", None)
        language = os.environ.get("PRL_TUI_LANG", "en")
        from prl_tui import i18n

        i18n.set_language(language)
        for size in SIZES:
            if "configure" in wanted:
                asyncio.run(configure(folder, size, language))
            if "watch" in wanted:
                asyncio.run(watch(folder, size, language, 60))


if __name__ == "__main__":
    main()
