"""A fault of this program itself: what was typed stays, and no traceback reaches the terminal."""

from __future__ import annotations

import sys
import time

import pexpect
import pytest

from prl_tui.core import checks
from prl_tui.core.config import Source
from prl_tui.machine import paths
from prl_tui.runs.folder import RunFolder
from prl_tui.tui import feeds
from tests.conftest import installed_script
from tests.runs.helpers import until


@pytest.fixture
def broken_at_three(monkeypatch):
    """A check that fails itself for one value."""
    real = checks.check

    def check(config, *rest):
        if config.number("num_generations") == 3:
            raise ZeroDivisionError("planted")
        return real(config, *rest)

    monkeypatch.setattr(checks, "check", check)


async def test_a_check_that_fails_itself_is_an_error_and_the_app_goes_on(app, broken_at_three):
    shown = app()
    async with shown.run_test(size=(160, 45)) as pilot:
        await pilot.pause(0.3)
        for value, ok in (("3", False), ("4", True)):
            shown.session.config = shown.session.config.with_values({"num_generations": value}, Source.FORM)
            shown.screen.update()
            await pilot.pause()
            assert shown.session.verdict.report.ok is ok
            [finding] = [one for one in shown.session.verdict.report.findings if one.severity == "error"] or [None]
            assert ok or "an unexpected fault: ZeroDivisionError; the details are in" in finding.message
    assert "planted" in (paths.state_dir() / "crash.log").read_text()


async def test_any_other_fault_ends_with_one_sentence(app, monkeypatch):
    shown = app()
    told = []
    monkeypatch.setattr(shown, "_print_error_renderables", lambda: told.extend(map(str, shown._exit_renderables)))

    async def one_that_fails():
        async with shown.run_test(size=(80, 24)) as pilot:
            shown.call_later(lambda: 1 // 0)
            await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        await one_that_fails()
    [line] = told
    assert line.startswith("prl-tui: an unexpected fault: ZeroDivisionError; the details are in ")


async def test_what_the_app_says_has_no_secret_in_it(app):
    shown = app()
    async with shown.run_test(size=(80, 24)) as pilot:
        shown.tell(f"no such preset as hf_{'aB3' * 12}, https://bob:hunter2@h", "error")
        await pilot.pause()
        [note] = shown._notifications
        assert note.message == "no such preset as …, https://…@h"


def test_a_feed_that_fails_itself_tells_it_and_reads_on_later(tmp_path, monkeypatch):
    run = RunFolder(tmp_path / "aaaaa1")
    run.path.mkdir()
    (run.path / "run.json").write_text('{"schema": 1, "recipe": "demo"}')
    (run.path / "exit.json").write_text('{"schema": 1, "exit_code": 0, "signal": null, "error": null, "stop": null}')
    monkeypatch.setattr(feeds, "RETRY", 0.05)
    real = feeds.overview.describe
    monkeypatch.setattr(feeds.overview, "describe", lambda *_: 1 // 0)
    feed = feeds.RunFeed(run)
    feed.start()
    one = until(feed.latest, "the first look")
    assert one.status.state == "unknown"
    assert "an unexpected fault: ZeroDivisionError" in one.status.detail
    monkeypatch.setattr(feeds.overview, "describe", real)
    until(lambda: feed.latest().status.state == "finished", "the next try")
    feed.stop()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["\x03", "\x11"], ids=["ctrl+c", "ctrl+q"])
@pytest.mark.parametrize("after", [0.0, 0.05, 0.1, 0.15])
def test_leaving_while_the_first_screen_is_built_is_no_fault(tmp_path, key, after):
    program, *words = installed_script()
    child = pexpect.spawn(program, words, cwd=str(tmp_path), timeout=30, dimensions=(24, 80))
    child.delaybeforesend = None
    child.expect_exact("\x1b[?1049h")
    time.sleep(after)  # where in its start the key comes is what is tried
    child.send(key)
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, child.signalstatus) == (0, None)
    assert not (paths.state_dir() / "crash.log").exists()


CONTINUED = """
import os, signal
from textual.drivers._writer_thread import WriterThread
real, left = WriterThread.start, [3]
def start(thread):
    if left[0]:
        left[0] -= 1
        os.kill(os.getpid(), signal.SIGCONT)
    real(thread)
WriterThread.start = start
from prl_tui.cli import entry
entry()
"""


@pytest.mark.slow
def test_a_continue_signal_while_the_terminal_is_set_up_waits(tmp_path):
    """Textual 8.2.8's writer thread is made and not yet started then; seen once on a slow box after STOP and CONT."""
    child = pexpect.spawn(sys.executable, ["-c", CONTINUED], cwd=str(tmp_path), timeout=30, dimensions=(24, 80))
    for _ in range(3):
        child.expect_exact("\x1b[?1049h")
    time.sleep(1.0)  # what is typed while it is set up, Textual flushes
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


@pytest.mark.slow
@pytest.mark.parametrize("words", [["watch", "t.log"], []])
def test_an_app_that_a_fault_ended_returns_4(tmp_path, words):
    (tmp_path / "t.log").write_text("{'loss': 0.5}\n")
    code = (
        "from prl_tui.tui.app import PrlApp; PrlApp._first_place = lambda self: 1 // 0; "
        "from prl_tui.cli import entry; entry()"
    )
    child = pexpect.spawn(sys.executable, ["-c", code, *words], cwd=str(tmp_path), timeout=30, dimensions=(24, 80))
    child.expect("an unexpected fault: ZeroDivisionError")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 4
