"""The runs and watch screens on real runs: tiny real jobs under their real supervisor."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from prl_tui.core.config import Source
from prl_tui.export.model import header
from prl_tui.i18n import set_language, t
from prl_tui.machine import paths
from prl_tui.runs import bare, launcher, proctree, stop
from prl_tui.runs.folder import Ended, RunFolder, read_ended, read_started
from prl_tui.runs.state import ALIVE, status
from prl_tui.tui.calm_end import NO_CODE
from prl_tui.tui.help import watch_help
from prl_tui.tui.run_words import closing
from prl_tui.tui.screens.dialogs import Help, Question
from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.widgets.log_tabs import LogTabs
from prl_tui.tui.widgets.log_view import LogView
from prl_tui.tui.widgets.run_columns import Longest, columns
from tests.runs.helpers import no_spying
from tests.tui.driving import configure, lines, screen, sees, shows, text_of, wait_for

WIDE, SMALL = (160, 45), (80, 24)
WAIT = "import time\nwhile True: print('tick', flush=True); time.sleep(0.05)"
SLEEPS = "import time; time.sleep(600)"
FAILS = "import sys\nprint('all well so far')\nfor n in range(60): print('line', n)\nraise ValueError('[/INST] broke')"
ALREADY = "ValueError: [/INST] broke – the marked line, in sight already"


@pytest.fixture
def start():
    """Start `python -c CODE` as a run; whatever is left at the end is stopped."""
    started = []

    def begin(code, **info):
        kept = {"recipe": "demo", "preset": "two-ranks", **info}
        job = launcher.Job((sys.executable, "-uc", code), info=kept)
        started.append(launcher.start(paths.runs_dir(), job))
        return started[-1]

    yield begin
    for folder in started:
        if folder.path.exists() and not isinstance(read_ended(folder), Ended):
            stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")
            if not stop.wait(folder, 10.0):
                with contextlib.suppress(OSError):
                    os.kill(status(folder).pid, signal.SIGKILL)


def told(app, text):
    return [one for one in app._notifications if text in one.message]


def over(folder):
    return isinstance(read_ended(folder), Ended)


async def runs_screen(pilot):
    await configure(pilot)
    await pilot.press("R")
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs screen")
    return pilot.app.screen


async def watch(pilot, folder):
    await configure(pilot)
    pilot.app.open_run(folder)
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
    await wait_for(pilot, lambda: folder.id in screen(pilot.app), "its head")
    return pilot.app.screen


async def test_without_runs_the_list_says_what_to_do(app):
    async with app().run_test(size=SMALL) as pilot:
        await runs_screen(pilot)
        await wait_for(pilot, lambda: "There are no runs yet" in screen(pilot.app), "the sentence")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_runs_are_listed_newest_first_with_their_states(app, start, size):
    async with app().run_test(size=size) as pilot:
        good = start("print('done')")
        await wait_for(pilot, lambda: over(good), "its end")
        bad = start(FAILS)
        await wait_for(pilot, lambda: over(bad), "its end")
        alive = start(WAIT)
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: alive.id in text_of(place.rows), "the runs")
        rows = [line for line in text_of(place.rows).split("\n") if "demo/two-ranks" in line]
        assert [run.id in row for run, row in zip((alive, bad, good), rows, strict=True)] == [True] * 3
        assert "✗ failed" in rows[1]
        assert "✓ finished" in rows[2]
        await wait_for(
            pilot, lambda: "watch" in screen(pilot.app).split("\n")[-1], "the footer, which says what enter does"
        )


async def test_stop_asks_with_the_safe_answer_first_and_then_stops_all_of_it(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start(WAIT)
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs, "the run")
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: pilot.app.focused and pilot.app.focused.id == "no", "the safe answer focused")
        await pilot.press("enter")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the list again")
        assert not over(folder)
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question again")
        await pilot.press("y")
        await wait_for(pilot, lambda: over(folder), "its end")
        await wait_for(pilot, lambda: "stopped" in text_of(place.rows), "the list says so")


async def test_delete_asks_and_deletes_only_an_ended_run(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start("print('done')")
        await wait_for(pilot, lambda: over(folder), "its end")
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs, "the run")
        for answer, there in (("escape", True), ("y", False)):
            await pilot.press("D")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
            await pilot.press(answer)
            await wait_for(pilot, lambda: pilot.app.screen is place, "the list again")
            await wait_for(pilot, lambda t=there: folder.path.exists() == t, f"there: {there}")
        alive = start(WAIT)
        await wait_for(pilot, lambda: [one for one in place.rows.runs if one.id == alive.id], "the other run")
        await pilot.press("D", "y")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "alive" in n.message], "the refusal")
        assert alive.path.exists()


async def test_d_the_cause_on_watch_deletes_nothing_in_the_list_where_esc_leads(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start(FAILS)
        await wait_for(pilot, lambda: over(folder), "its end")
        await watch(pilot, folder)
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the list")
        await wait_for(pilot, lambda: pilot.app.screen.rows.runs, "the run")
        place = pilot.app.screen
        await pilot.press("d")
        await pilot.pause()
        assert pilot.app.screen is place
        await pilot.press("D")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: pilot.app.focused and pilot.app.focused.id == "no", "the safe answer focused")
        await pilot.press("enter")
        assert folder.path.exists()


async def test_the_run_that_was_opened_has_the_cursor_when_the_list_comes_back(app, start):
    async with app().run_test(size=SMALL) as pilot:
        place = await runs_screen(pilot)
        for n in range(25):  # more than there are lines; records of runs whose supervisor is gone
            folder = paths.runs_dir() / f"aa{n:04}"
            folder.mkdir(parents=True)
            (folder / "run.json").write_text(json.dumps({"schema": 1, "id": folder.name, "created": 1e9 + n}))
        await wait_for(pilot, lambda: len(place.rows.runs) == 25, "the runs")
        await pilot.press("end")
        opened = place.rows.runs[24].id
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        newer = start(WAIT)
        await pilot.press("R")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the list")
        place = pilot.app.screen
        await wait_for(pilot, lambda: place.rows.runs, "the runs again")
        assert place.rows.runs[0].id == newer.id
        assert place._here().id == opened
        await wait_for(pilot, lambda: opened in text_of(place.rows), "it, in sight")
        await pilot.press("D")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await sees(pilot, opened)


async def test_o_puts_a_runs_settings_into_the_form(app, start):
    async with app().run_test(size=WIDE) as pilot:
        folder = start("print(1)", values={"max_steps": "7"}, sources={"max_steps": "set"})
        await wait_for(pilot, lambda: over(folder), "its end")
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs, "the run")
        await pilot.press("o")
        place = await configure(pilot)
        config = place.session.config
        assert config.number("max_steps") == 7
        assert (config.settings["max_steps"].source, config.settings["max_steps"].origin) == (Source.RUN, folder.id)
        assert f"7  (run {folder.id})" in "\n".join(header(place.session.verdict.plan)), "a script says it too"
        place.form.go_to("max_steps")
        await wait_for(pilot, lambda: f"run {folder.id}" in text_of(place.form), "where the value came from")


async def test_sweep_asks_with_the_safe_answer_first_and_ends_what_outlived_its_run(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start("import time; time.sleep(600)")
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs, "the run")
        await pilot.press("W")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "No process" in n.message], "none yet")
        started = read_started(folder)
        os.kill(started.supervisor[0], signal.SIGKILL)
        await wait_for(pilot, lambda: not proctree.is_alive(started.supervisor), "the supervisor's death")
        await pilot.press("W")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: pilot.app.focused and pilot.app.focused.id == "no", "the safe answer focused")
        assert proctree.is_alive(started.leader)
        await pilot.press("y")
        await wait_for(pilot, lambda: not proctree.is_alive(started.leader), "its end")


async def test_while_a_run_says_nothing_yet_watch_tells_what_changed_since_the_last_one(app, start):
    async with app().run_test(size=WIDE) as pilot:
        first = start("pass", values={"max_steps": "200"})
        second = start(WAIT, values={"max_steps": "7"})
        await watch(pilot, second)
        told = f"since run {first.id}: max_steps 200 → 7"
        await wait_for(pilot, lambda: told in text_of(pilot.app.screen.query_one("#health")), "the change")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_below_the_list_stands_why_a_run_failed_and_what_changed_since_the_last_one(app, start, size):
    async with app().run_test(size=size) as pilot:
        first = start("pass", values={"max_steps": "200"})
        other = start("pass", recipe="custom", preset="python")
        failed = start(FAILS, values={"max_steps": "7", "lr": "0.1"})
        await wait_for(pilot, lambda: all(map(over, (first, other, failed))), "their ends")
        place = await runs_screen(pilot)
        note = place.query_one("#note")
        told = f"since run {first.id}: max_steps 200 → 7, lr – → 0.1"
        await wait_for(pilot, lambda: told in text_of(note), "what changed")
        await shows(pilot, note, "ValueError: [/INST] broke")
        await pilot.press("down")
        await wait_for(pilot, lambda: f"Run {other.id} is the first of its recipe." in text_of(note), "the next run's")
        await pilot.press("down")
        await wait_for(pilot, lambda: f"Run {first.id} is the first of its recipe." in text_of(note), "the last one's")
        if size == WIDE:
            await pilot.press("up")
            assert "lr – → 0.1" not in text_of(place.rows), "the failure's reason has the column"


async def test_the_list_has_a_column_for_what_changed_where_it_is_wide(app, start):
    async with app().run_test(size=WIDE) as pilot:
        first = start("pass", values={"max_steps": "200"})
        second = start("pass", values={"max_steps": "7"})
        await wait_for(pilot, lambda: over(first) and over(second), "their ends")
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: "max_steps 200 → 7" in text_of(place.rows), "what changed")


async def test_what_arrives_when_a_place_is_half_taken_down_is_shown_nowhere(app, start):
    """Leaving while the list was read once ended in a traceback, and so did leaving a form that was just opened."""
    async with app().run_test(size=SMALL) as pilot:
        start("pass")
        form = await configure(pilot)
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs, "the run")
        runs = place.rows.runs
        await place.rows.remove()
        place.later(place._show, runs)
        place.later(place._tell, {})
        await pilot.pause()
        assert not form.query("#settings"), "the place that was left"
        form.update()


async def test_m_tells_what_changed_since_the_recipes_last_run(app, start):
    async with app().run_test(size=SMALL) as pilot:
        first = start("pass", values={"max_steps": "200"})
        start("pass", values={"max_steps": "7"})
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(place.rows.runs) == 2, "the runs")
        await pilot.press("m")
        await wait_for(pilot, lambda: "max_steps 200 → 7" in screen(pilot.app), "the change")
        await sees(pilot, "not known: packages")
        await pilot.press("escape")
        pilot.app.open_run(first)
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await pilot.press("m")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "first of its" in n.message], "the first")


async def test_shift_s_shows_where_a_live_run_stands_and_says_that_an_ended_one_has_no_process(app, start):
    if reason := no_spying():
        pytest.skip(reason)
    alive, over = start("import time\ndef stuck():\n    time.sleep(600)\nstuck()"), start("pass")
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        pilot.app.open_run(over)
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await wait_for(pilot, lambda: "finished" in screen(pilot.app), "its end")
        await pilot.press("S")
        await wait_for(pilot, lambda: [n for n in pilot.app._notifications if "No Python process" in n.message], "none")
        pilot.app.open_run(alive)
        await wait_for(pilot, lambda: alive.id in screen(pilot.app), "the other run")
        await pilot.pause(0.5)
        await pilot.press("S")
        await wait_for(pilot, lambda: "stuck (" in screen(pilot.app), "the line in which it stands")


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_watch_shows_the_state_follows_the_log_and_leaves_the_run_alive(app, start, size):
    one = app()
    async with one.run_test(size=size) as pilot:
        folder = start(WAIT)
        place = await watch(pilot, folder)
        log = place.query_one(LogView)
        await wait_for(pilot, lambda: "tick" in text_of(log), "its log")
        seen = log.lines
        await wait_for(pilot, lambda: log.lines > seen, "more of it")
        assert log.following
        await sees(pilot, "following")
        await wait_for(pilot, lambda: "demo/two-ranks" in text_of(place.query_one("#head")), "what it is")
        await shows(pilot, place.query_one("#head"), folder.id)
        await pilot.press("q")
    assert one.return_code == 0
    assert not over(folder)
    assert status(folder).state in {"starting", "running"}


@pytest.mark.parametrize("size", [WIDE, SMALL])
@pytest.mark.parametrize(("code", "verdict"), [("print(1)", "✓ finished, exit code 0 "), (FAILS, "✗ ValueError: ")])
async def test_a_demo_that_will_close_by_itself_says_first_how_it_ended(app, start, size, code, verdict):
    folder = start(code)
    async with app(watch=folder, leave_when_done=True).run_test(size=size) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        line = pilot.app.screen.query_one("#health")
        await wait_for(pilot, lambda: "closing in" in text_of(line), "that it will close")
        text = text_of(line).strip()
        assert text.startswith(verdict)
        assert text.endswith("s, any key keeps it open")
        assert "…" not in text
        await pilot.press("k")
        await wait_for(pilot, lambda: "closing in" not in text_of(line), "that it stays")


async def test_another_ended_run_that_is_looked_at_closes_no_demo_and_its_code_is_the_demos(app, start, monkeypatch):
    """The other run's screen said “closing in 8 s”, and the demo ended with 0 while its run went on."""
    monkeypatch.setattr("prl_tui.tui.screens.watch.LINGER", 0.3)
    other = start("print('done')")
    go = paths.runs_dir().parent / "go"
    folder = start(f"import os, sys, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\nsys.exit(3)")
    one = app(watch=folder, leave_when_done=True)
    async with one.run_test(size=SMALL) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await wait_for(pilot, lambda: over(other), "the other's end")
        pilot.app.open_run(RunFolder(other.path))
        await wait_for(pilot, lambda: "✓ finished, exit" in screen(pilot.app), "the other's end on the screen")
        health = pilot.app.screen.query_one("#health")
        for _ in range(10):
            await pilot.pause(0.1)
            assert "closing" not in text_of(health)
        assert pilot.app.is_running
        go.touch()
        await wait_for(pilot, lambda: over(folder), "its own end")
        await pilot.pause(0.6)
        pilot.app.open_run(RunFolder(folder.path))  # as the list does it
        await wait_for(pilot, lambda: pilot.app._exit, "that it closes after its own run")
    assert one.return_value == 3


async def test_the_demo_of_a_lost_run_ends_with_a_code_of_its_own(app, start, monkeypatch):
    """`demo` ended with 0, `watch --plain` of the same run with 4."""
    monkeypatch.setattr("prl_tui.tui.screens.watch.LINGER", 0.3)
    folder = start(WAIT)
    one = app(watch=folder, leave_when_done=True)
    async with one.run_test(size=SMALL) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        started = read_started(folder)
        os.kill(started.supervisor[0], signal.SIGKILL)
        os.kill(started.leader[0], signal.SIGKILL)
        await wait_for(pilot, lambda: pilot.app._exit, "that it closes after its run")
    assert status(folder).state == "lost"
    assert one.return_value == NO_CODE
    stop.take_over(folder)  # that nobody waits for its record


async def test_a_demo_that_a_key_kept_open_stays_open_when_one_comes_back_to_it(app, start, monkeypatch):
    monkeypatch.setattr("prl_tui.tui.screens.watch.LINGER", 60)  # longer than any of the waits
    folder = start("print('done')")
    async with app(watch=folder, leave_when_done=True).run_test(size=SMALL) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await wait_for(pilot, lambda: "closing in" in text_of(pilot.app.screen.query_one("#health")), "its end")
        await pilot.press("R")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs screen")
        pilot.app.open_run(RunFolder(folder.path))
        await wait_for(pilot, lambda: "✓ finished, exit" in screen(pilot.app), "its end again")
        await pilot.pause(0.6)
        assert "closing" not in text_of(pilot.app.screen.query_one("#health"))


def test_what_has_no_room_beside_the_closing_is_left_out_whole():
    end = "closing in 9 s, any key keeps it open"
    assert closing("✓ done   its logs stay in /somewhere", 9, 90) == f"✓ done   its logs stay in /somewhere   {end}"
    assert closing("✓ done   its logs stay in /somewhere", 9, 60) == f"✓ done   {end}"
    cause = "✗ rank 1: a cause longer than the room"
    short = "any key keeps it open, 9 s left"
    assert closing(f"{cause}   d cause", 9, 90) == f"{cause}   d cause   {end}"
    assert closing(f"{cause}   d cause", 9, 80) == f"{cause}   {end}"
    assert closing(f"{cause}   d cause", 9, 74) == f"{cause}   {short}"
    assert closing(f"{cause}   d cause", 9, 60) == f"✗ rank 1: a cause longer …   {short}"


@pytest.mark.parametrize(
    ("language", "end"), [("en", r"any key keeps it open, \d\d s left$"), ("zh", r"\d\d 秒后关闭，按任意键保留$")]
)
async def test_a_long_cause_is_cut_before_the_way_to_keep_a_demo_open(app, start, monkeypatch, request, language, end):
    """At 80 columns the line ended with “closes in 8 s”, and the demo was gone while somebody read."""
    monkeypatch.setattr("prl_tui.tui.screens.watch.LINGER", 60)  # whichever second a slow machine draws first
    request.addfinalizer(lambda: set_language("en"))
    set_language(language)
    folder = start("raise RuntimeError('simulated failure on rank 1 at step 5, for the want of a longer name')")
    async with app(watch=folder, leave_when_done=True).run_test(size=SMALL) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        line = pilot.app.screen.query_one("#health")
        await wait_for(pilot, lambda: re.search(end, text_of(line)), "how it stays open")
        assert text_of(line).strip().startswith("✗ RuntimeError: simulated failure")
        await pilot.press("d")
        await wait_for(pilot, lambda: not re.search(end, text_of(line)), "that it stays")


async def test_the_help_names_the_logs_as_their_tabs_do(app, start):
    async with app().run_test(size=WIDE) as pilot:
        place = await watch(pilot, start(WAIT))
        (name,) = [tab.name for tab in place.query_one(LogTabs).tabs]
        line = next(one for one in watch_help().split("\n") if one.startswith("logs: "))
        assert f", {name} (" in line
        assert f": {t('all ranks')} (" in line


async def test_details_goes_to_the_first_error_line_and_slash_searches(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start(FAILS)
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: "✗ failed" in text_of(place.query_one("#head")), "how it ended")
        await wait_for(pilot, lambda: "ValueError: [/INST] broke" in text_of(place.query_one("#health")), "the cause")
        log = place.query_one(LogView)
        await pilot.press("home", "d")
        await wait_for(pilot, lambda: log.current_line is not None, "a line found")
        await wait_for(pilot, lambda: "Traceback" in text_of(log), "the first error line in sight")
        assert not told(pilot.app, "in sight already"), "it came into sight"
        await pilot.press("d")
        await wait_for(pilot, lambda: told(pilot.app, ALREADY), "which, and why not")
        await pilot.press("slash")
        await wait_for(pilot, lambda: place.query("#finder"), "the finder")
        await pilot.press(*"line", "space", "7", "enter")
        await wait_for(pilot, lambda: log.current_line == 8, "the searched line")
        await shows(pilot, log, "line 7")


async def test_details_of_a_stopped_run_go_to_the_first_line_that_the_stop_caused_and_say_so(app, start):
    """It said “No error lines here.” over lines that `e` went to."""
    async with app().run_test(size=SMALL) as pilot:
        folder = start(
            f"print('ready')\ntry:\n    {SLEEPS}\nexcept KeyboardInterrupt:\n    print('A\\n' * 50)\n    raise"
        )
        place = await watch(pilot, folder)
        log = place.query_one(LogView)
        await wait_for(pilot, lambda: "ready" in text_of(log), "its log")
        stop.stop(folder, by="test")
        await wait_for(pilot, lambda: "■ stopped" in text_of(place.query_one("#head")), "how it ended")
        await wait_for(pilot, lambda: "KeyboardInterrupt" in text_of(log), "its end")
        await pilot.press("e", "e")
        await wait_for(pilot, lambda: log.current_line == log.lines - 1, "the second error line")
        await pilot.press("d")
        await wait_for(pilot, lambda: told(pilot.app, "The stop caused the error lines here: none came before"), "why")
        await wait_for(pilot, lambda: "error 1 of 2" in text_of(place.query_one(LogTabs)), "how many")
        await wait_for(pilot, lambda: "Traceback" in text_of(log).splitlines()[log.marked_row()], "the first, marked")
        assert not told(pilot.app, "No error lines here")


async def test_details_of_a_cause_that_is_in_sight_say_so_until_another_pane_has_the_keys(app, start):
    async with app().run_test(size=SMALL) as pilot:
        place = await watch(pilot, start("raise ValueError('[/INST] broke')"))
        await wait_for(pilot, lambda: "ValueError: [/INST] broke" in text_of(place.query_one("#health")), "the cause")
        log = place.query_one(LogView)
        await wait_for(pilot, lambda: "ValueError: [/INST] broke" in text_of(log), "its line")
        await pilot.press("d")
        await wait_for(pilot, lambda: told(pilot.app, ALREADY), "the sentence")
        assert log.current_line is not None, "and the line is marked"
        pilot.app.clear_notifications()
        await pilot.press("1", "d")
        await wait_for(pilot, lambda: log.has_focus and place.has_class("-on-logs"), "the logs again")
        await pilot.pause()
        assert not told(pilot.app, "in sight already")


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.parametrize("code", [FAILS, "raise ValueError('[/INST] broke')"])
async def test_no_notice_lies_over_the_marked_line(app, start, size, code, wrapped):
    """At 80x24 “the marked line, in sight already” lay for 5 s over that very line, the last of the log."""
    async with app().run_test(size=size, notifications=True) as pilot:
        place = await watch(pilot, start(code))
        await wait_for(pilot, lambda: "ValueError: [/INST] broke" in text_of(place.query_one("#health")), "the cause")
        log = place.query_one(LogView)
        await wait_for(pilot, lambda: "ValueError: [/INST] broke" in text_of(log), "its line")
        if wrapped:
            await pilot.press("w")
            assert log.wrapped
        await pilot.press("d")
        await wait_for(pilot, lambda: told(pilot.app, ALREADY), "the sentence")
        toast = await wait_for(pilot, lambda: place.query(Toast) and place.query_one(Toast), "its notice")
        await wait_for(pilot, lambda: toast.region.area, "its place")
        mark = log.region.y + log.marked_row()
        assert lines(pilot.app)[mark].strip("│ ").startswith("ValueError: [/INST] broke"), "uncovered"
        assert mark not in range(toast.region.y, toast.region.bottom)
        assert toast.region.bottom <= place.query_one("#health").region.y, "nor over the health line"


async def test_panes_by_number_one_at_a_time_where_there_is_little_room(app, start):
    async with app().run_test(size=SMALL) as pilot:
        place = await watch(pilot, start("print('done')"))
        for key, shown in (("1", "#gpus"), ("2", "#curves"), ("3", "#logs"), ("1", "#gpus")):
            await pilot.press(key)
            panes = ("#gpus", "#curves", "#logs")
            await wait_for(
                pilot,
                lambda s=shown: [p for p in panes if place.query_one(p).region.area and place.query_one(p).display
                                 and (p == "#logs" or place.query_one("#upper").display)] == [s],
                f"{shown} alone",
            )  # fmt: skip


async def test_tabs_switch_between_the_launchers_and_each_ranks_log(app, start):
    code = (
        "import os,pathlib\nd=pathlib.Path(os.environ['PRL_RUN_DIR'])/'ranks'/'x'/'attempt_0'\n"
        "for r in (0,1):\n p=d/str(r); p.mkdir(parents=True)\n (p/'stdout.log').write_text(f'I am rank {r}\\n')\n"
        " (p/'stderr.log').write_text('')\nprint('I am the launcher')"
    )
    async with app().run_test(size=SMALL) as pilot:
        folder = start(code)
        place = await watch(pilot, folder)
        log = place.query_one(LogView)
        await wait_for(pilot, lambda: "I am rank 0" in text_of(log), "rank 0 first")
        await pilot.press("right_square_bracket")
        await wait_for(pilot, lambda: "I am rank 1" in text_of(log), "rank 1")
        await pilot.press("right_square_bracket")
        await wait_for(pilot, lambda: "I am the launcher" in text_of(log), "the launcher's")


async def test_every_action_is_found_by_name(app):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        titles = [command.title for command in pilot.app.get_system_commands(place)]
        assert {"launch", "export", "undo", "find", "all settings", "go: runs", "quit"} <= set(titles)
        assert not [title for title in titles if "Page" in title or "Copy" in title]
        await pilot.press("colon", *"go: runs", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the chosen action's screen")


async def test_help_opens_on_every_screen_and_fits_without_broken_lines(app, start):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        for go in (None, "R", "watch"):
            if go == "R":
                await pilot.press("R")
                await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "runs")
            elif go == "watch":
                await watch_from_runs(pilot, start("print(1)"))
            await pilot.press("question_mark")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "the help")
            wanted = pilot.app.screen._text
            first = wanted[:15]
            await wait_for(pilot, lambda f=first: f in screen(pilot.app), "its first line")
            shown = " ".join(screen(pilot.app).replace("│", " ").split())
            assert " ".join(wanted.split()) in shown, "all of it in sight"
            keys = [line for line in wanted.split("\n") if "  " in line]
            broken = [line for line in keys if line not in screen(pilot.app)]
            assert [line for line in broken if len(line) <= 76] == [], "lines of keys are not broken"
            await pilot.press("escape")
            await wait_for(pilot, lambda: not isinstance(pilot.app.screen, Help), "the screen again")
        assert place is not pilot.app.screen


async def watch_from_runs(pilot, folder):
    await wait_for(pilot, lambda: [one for one in pilot.app.screen.rows.runs if one.id == folder.id], "the run")
    await pilot.press("enter")
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")


CAPTURES = Path(__file__).parent.parent / "fixtures" / "engine_runs"


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_log_of_a_run_that_nobody_launched_here_opens_in_the_same_screen(app, tmp_path, size):
    """A real console of ms-swift 4.6.0 whose rank 1 raised."""
    shutil.copy(CAPTURES / "fail_rank1_raises" / "console.raw", tmp_path / "night.log")
    async with app().run_test(size=size, notifications=True) as pilot:
        await configure(pilot)
        pilot.app.open_run(bare.find(str(tmp_path), tmp_path))
        await wait_for(
            pilot, lambda: "✗ rank 1: RuntimeError: reward function failed" in screen(pilot.app), "its cause"
        )
        await wait_for(pilot, lambda: "step 3 / 12" in screen(pilot.app), "how far it came")
        await pilot.press("d")
        await wait_for(pilot, lambda: "[rank1]: RuntimeError" in screen(pilot.app), "the line in the log")
        await pilot.press("x")
        await wait_for(pilot, lambda: "cannot be stopped" in screen(pilot.app), "that it is none of ours")
        with (tmp_path / "night.log").open("a") as file:
            file.write("one more line\n")
        await pilot.press("end")
        await wait_for(pilot, lambda: "one more line" in screen(pilot.app), "the log goes on")


async def test_a_log_and_a_folder_of_metrics_say_what_they_are(app, tmp_path):
    folder = tmp_path / "v31-20260210-185134"
    folder.mkdir()
    shutil.copy(CAPTURES / "grpo_np2_ok" / "logging.jsonl", folder)
    shutil.copy(CAPTURES / "grpo_np2_ok" / "console.raw", tmp_path / "night.log")
    async with app().run_test(size=SMALL) as pilot:
        pilot.app.open_run(bare.find(str(folder), tmp_path))
        await wait_for(pilot, lambda: "an output folder, not a run of prl-tui's" in screen(pilot.app), "what it is")
        await wait_for(pilot, lambda: "No log lies in this folder, only metrics." in screen(pilot.app), "no log")
        assert "logging.jsonl" not in text_of(pilot.app.screen.query_one("#head"))
    async with app().run_test(size=SMALL) as pilot:
        pilot.app.open_run(bare.find(str(tmp_path / "night.log"), tmp_path))
        await wait_for(pilot, lambda: "night.log · a log, not a run of prl-tui's" in screen(pilot.app), "what it is")
        assert text_of(pilot.app.screen.query_one("#head")).count("night.log") == 1


def test_the_column_of_a_time_takes_what_it_needs():
    assert columns(Longest(), 100)[1:] == (20, 21, 9, 0)
    longest = Longest(far=16, took=11)  # 200 / 200  100 %, and minutes with seconds in Chinese
    assert columns(longest, 100)[1:] == (20, 19, 11, 0)
    longest = Longest(far=21, took=11)
    assert columns(longest, 100)[1:] == (18, 21, 11, 0)
    assert columns(longest, 160)[1:] == (33, 21, 12, 0)


RANKS = """
import os, pathlib, sys, time
top = pathlib.Path(os.environ["PRL_RUN_DIR"]) / "ranks" / "none_x" / "attempt_0"
for rank, text in ((0, "RuntimeError: Connection closed by peer"), (1, "ValueError: the reward is not finite")):
    place = top / str(rank)
    place.mkdir(parents=True)
    (place / "stdout.log").write_text("")
    (place / "stderr.log").write_text(f"Traceback (most recent call last):\\n{text}\\n")
print("Root Cause (first observed failure):\\n[0]:\\n  time      : now\\n  host      : here\\n"
      "  rank      : 1 (local_rank: 1)\\n  exitcode  : 1 (pid: 7)\\n", flush=True)
sys.exit(1)
"""


async def test_a_failed_run_opens_on_the_log_of_the_rank_that_failed_first(app, start):
    """The layout of torchrun 2.13's logs and its closing block; rank 0's error is what followed."""
    async with app().run_test(size=SMALL) as pilot:
        place = await watch(pilot, start(RANKS))
        await wait_for(pilot, lambda: "rank 1: ValueError" in text_of(place.query_one("#health")), "the cause")
        await wait_for(
            pilot, lambda: "the reward is not finite" in text_of(place.query_one(LogView)), "rank 1's own log"
        )
        assert "Connection closed" not in text_of(place.query_one(LogView))


LINES = "import time\nfor n in range(300): print('loss' if n % 10 == 7 else 'UserWarning: w' if n == 5 else 'line', n)\ntime.sleep(60)"


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_f_shows_only_lines_with_a_text_slash_counts_in_them_and_esc_goes_back_step_by_step(app, start, size):
    async with app().run_test(size=size, notifications=True) as pilot:
        place = await watch(pilot, start(LINES))
        log = place.query_one(LogView)
        await wait_for(pilot, lambda: "line 299" in text_of(log), "its log")
        await pilot.press("f", *"loss", "enter")
        await wait_for(pilot, lambda: " 298 loss 297" in text_of(log), "the last line that has it, with its number")
        bar = place.query_one("#log-filter")
        await wait_for(pilot, lambda: "only “loss”   30 of 300 lines   esc clears" in text_of(bar), "what is shown")
        await pilot.press("F", *"7", "enter")
        await wait_for(pilot, lambda: "only “loss” · without “7”   0 of 300 lines" in text_of(bar), "both")
        await shows(pilot, log, "No line matches.")
        await pilot.press("F", "ctrl+u", "enter")
        await wait_for(pilot, lambda: "only “loss”   30 of 300 lines" in text_of(bar), "the first alone")
        await pilot.press("slash", *"97", "enter")
        await wait_for(pilot, lambda: " of 3" in text_of(place.query_one(LogTabs)), "the count")
        await wait_for(pilot, lambda: log.current_line is not None, "the first hit")
        while "1 of 3" not in text_of(place.query_one(LogTabs)):
            before = log.current_line
            await pilot.press("N")
            await wait_for(pilot, lambda b=before: log.current_line != b, "the one before")
            await shows(pilot, place.query_one(LogTabs), f"{1 + log.current_line // 10} of 3")
        await pilot.press("escape")
        await wait_for(pilot, lambda: "1 of 3" not in text_of(place.query_one(LogTabs)), "the search is over")
        await shows(pilot, bar, "30 of 300")
        await pilot.press("escape")
        await wait_for(pilot, lambda: not bar.display and "line 98" in text_of(log), "all lines, where one was")
        await pilot.press("l", "l")
        await wait_for(pilot, lambda: "warnings and errors   1 of 300 lines" in text_of(bar), "by level")
        await pilot.press("slash", *"re:(", "enter")
        await wait_for(pilot, lambda: "not a regular expression" in screen(pilot.app), "why it is refused")
        assert place.query("#finder"), "what was typed stays"
        await pilot.press("escape", "escape", "escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")


MANY = """
import os, pathlib, time
top = pathlib.Path(os.environ["PRL_RUN_DIR"]) / "ranks" / "none_x" / "attempt_0"
for rank in range(64):
    place = top / str(rank)
    place.mkdir(parents=True)
    (place / "stdout.log").write_text(f"I am rank {rank}\\n")
    (place / "stderr.log").write_text("ValueError: [/INST] odd\\n" if rank == 41 else "")
    print(f"[default{rank}]:rank {rank} says hello", flush=True)
print("the launcher speaks", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_of_many_ranks_the_odd_one_stands_by_itself_and_all_of_them_are_one_log(app, start, size):
    async with app().run_test(size=size) as pilot:
        place = await watch(pilot, start(MANY))
        log, tabs = place.query_one(LogView), place.query_one(LogTabs)
        await wait_for(pilot, lambda: len(tabs.tabs) == 66 and "r41 !" in text_of(tabs), "the odd one in the row")
        await shows(pilot, tabs, "▸r0 ")
        await shows(pilot, tabs, "launcher")
        for _ in range(10):
            await pilot.press("right_curly_bracket")
            if tabs.tabs[tabs.active].rank == 41:
                break
        await wait_for(pilot, lambda: "ValueError: [/INST] odd" in text_of(log), "its log")
        await shows(pilot, tabs, "▸r41 !")
        await pilot.press("left_square_bracket")
        await wait_for(pilot, lambda: "I am rank 40" in text_of(log) and "▸r40" in text_of(tabs), "the one before")
        place._show_tab(65)
        await wait_for(pilot, lambda: "65 the launcher speaks" in text_of(log), "the launcher's own line")
        assert "rank 3 says" not in text_of(log)
        bar = place.query_one("#log-filter")
        await wait_for(pilot, lambda: text_of(bar).startswith(" the launcher's own lines   1 of 65"), "whose they are")
        await pilot.press("right_square_bracket")
        await wait_for(pilot, lambda: "r63│ rank 63 says hello" in text_of(log), "all ranks, with their names")
        await shows(pilot, log, "the launcher speaks")
        await wait_for(pilot, lambda: text_of(bar).startswith(" all ranks, bars left out   65 of 65"), "whose they are")
        await pilot.press("right_square_bracket")
        await wait_for(pilot, lambda: "I am rank 0" in text_of(log) and not bar.display, "all of rank 0's")
        await pilot.press("l")
        await wait_for(pilot, lambda: text_of(bar).startswith(" rank 0 · errors   0 of 1 line"), "whose errors")


BARS = """
import os, pathlib, sys
place = pathlib.Path(os.environ["PRL_RUN_DIR"]) / "ranks" / "none_x" / "attempt_0" / "0"
place.mkdir(parents=True)
(place / "stdout.log").write_text("hello\\n")
(place / "stderr.log").write_text("")
for n in range(50):
    print(f"[default0]:Train:  {n}%|#   | {n}/100 [00:01<00:09, 1.0it/s]")
print("RuntimeError: the launcher broke")
for n in range(50):
    print("after", n, flush=True)
sys.exit(1)
"""


async def test_d_finds_its_line_in_a_log_whose_bars_are_left_out(app, start):
    async with app().run_test(size=SMALL) as pilot:
        place = await watch(pilot, start(BARS))
        log, bar = place.query_one(LogView), place.query_one("#log-filter")
        await wait_for(pilot, lambda: "hello" in text_of(log), "rank 0's log")
        await wait_for(pilot, lambda: place._one and place._one.status.state not in ALIVE, "the end")
        await pilot.press("d")
        await wait_for(pilot, lambda: "51 RuntimeError: the launcher broke" in text_of(log), "the line")
        await wait_for(pilot, lambda: text_of(bar).startswith(" all ranks, bars left out   51 of 101 lines"), "of what")
        await wait_for(pilot, lambda: log.current_line == 0, "that it is the one jumped to")


async def test_the_log_in_sight_stays_there_when_more_ranks_begin_to_write(app, start):
    """The second rank's name comes to stand where the launcher's stood; the code waits for the folder `go`."""
    code = (
        "import os,pathlib,time\nrun=pathlib.Path(os.environ['PRL_RUN_DIR'])\nd=run/'ranks'/'x'/'attempt_0'\n"
        "for r in range(4):\n"
        " while r == 1 and not (run/'go').exists(): time.sleep(0.05)\n"
        " p=d/str(r); p.mkdir(parents=True)\n (p/'stdout.log').write_text(f'I am rank {r}\\n')\n"
        " (p/'stderr.log').write_text('')\n print(f'[default{r}]:I am rank {r}', flush=True)\n"
        " print('I am the launcher', flush=True)\ntime.sleep(60)"
    )
    async with app().run_test(size=SMALL) as pilot:
        folder = start(code)
        place = await watch(pilot, folder)
        log, tabs, bar = place.query_one(LogView), place.query_one(LogTabs), place.query_one("#log-filter")
        await wait_for(pilot, lambda: len(tabs.tabs) == 3 and "I am rank 0" in text_of(log), "rank 0 first")
        await pilot.press("right_square_bracket")
        await wait_for(pilot, lambda: "the launcher's own lines   1 of 2 lines" in text_of(bar), "the launcher's")
        (folder.path / "go").mkdir()
        await wait_for(pilot, lambda: len(tabs.tabs) == 6, "all ranks")
        await wait_for(pilot, lambda: "the launcher's own lines   4 of 8 lines" in text_of(bar), "still its own")
        assert tabs.tabs[tabs.active].own
        assert "I am rank" not in text_of(log)
