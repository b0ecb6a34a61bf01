"""What is said over a log goes from the terminal again: what a terminal shows is known on a real one alone."""

from __future__ import annotations

import time

import pytest

from tests.e2e.terminal import run


@pytest.mark.slow
def test_what_was_said_over_a_log_that_was_scrolled_goes_again(terminal, work, environment):
    (work / "t.py").write_text("for n in range(300): print('line', n, 'wide ' * 60)\n")
    chosen = ("--set", "script=t.py", "--set", "training_env=this", "--no-probe", "--foreground")
    done = run("launch", "custom/python", *chosen, environment=environment, cwd=work)
    assert done.returncode == 0, done.stderr
    screen = terminal("watch", "last")
    screen.wait("line 299", "the log's end")
    end = time.monotonic() + 3
    while time.monotonic() < end:  # hidden panes are drawn anew every few seconds
        screen.read()
    screen.keys("x")
    screen.wait("has ended already", "what is said")
    screen.wait(lambda text: "has ended already" not in text, "its going", 15)
    screen.keys("q")
    screen.end()
