"""A secret that is typed into the form is drawn nowhere once it stands there, copied nowhere and saved nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.driving import configure, screen, wait_for

SECRET = "hf_abcdefghijklmnopqrstuvwx"
WORDS = {"script": SECRET, "workdir": f"https://me:{SECRET}@host/x", "arguments": f"--hub_token {SECRET}",
         "environment": f"HF_TOKEN={SECRET}"}  # fmt: skip


@pytest.mark.parametrize("key", list(WORDS))
async def test_a_typed_secret_is_not_drawn_copied_or_saved(app, key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with app("custom", "torchrun").run_test(size=(160, 45), notifications=True) as pilot:
        place = await configure(pilot)
        place.session.set_text(key, WORDS[key])
        place.session.finish_typing()
        place.update()
        await wait_for(pilot, lambda: "secret" in screen(pilot.app), "the verdict names it")
        for _ in range(3):  # each tab of the preview
            await pilot.press("v")
            await pilot.pause()
            assert SECRET not in screen(pilot.app)
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert SECRET not in screen(pilot.app)
        assert SECRET not in (pilot.app.clipboard or "")
    for folder, _, names in os.walk(tmp_path):
        assert all(SECRET not in (Path(folder) / name).read_text(errors="replace") for name in names)
