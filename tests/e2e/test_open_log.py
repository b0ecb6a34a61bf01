"""A log in the person's own pager: on a real terminal, which is given away and taken back."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

PAGER = '#!/bin/sh\ntrap : INT\nprintf "I am the pager: %s\\n" "$*"\nread line\nexit 3\n'


def test_o_gives_the_terminal_to_the_pager_at_the_line_in_sight_and_takes_it_back(terminal, environment, tmp_path):
    log = tmp_path / "night.log"
    log.write_text("".join(f"line {n}\n" for n in range(300)))
    pager = tmp_path / "bin" / "less"
    pager.parent.mkdir()
    pager.write_text(PAGER)
    pager.chmod(0o755)
    environment["PAGER"] = f"{pager} -R"
    screen = terminal("watch", str(log))
    screen.wait("line 299", "the end of the log")
    screen.keys("/", *"line 250", "enter")
    screen.wait("1 of 1", "the line that was looked for")
    screen.keys("o")
    screen.wait("I am the pager: -R +251g /", "the pager, at that line")
    screen.keys("\x03")
    screen.keys("enter")
    screen.wait("q leave", "the watch screen again")
    screen.keys("G")
    screen.wait("line 299", "keys work as before")
    with log.open("a") as file:
        file.write("one more\n")
    screen.wait("one more", "and so does the log")
    screen.keys("q")
    assert screen.end() == 0
