"""Which command opens a file at a line in a person's own program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prl_tui.machine.viewer import command, run

LOG = Path("/runs/a b/output.log")


@pytest.mark.parametrize(
    ("kind", "environment", "line", "words"),
    [
        ("pager", {}, 7, ["less", "-R", "+7g", str(LOG)]),
        ("pager", {}, None, ["less", "-R", "+G", str(LOG)]),
        ("pager", {"PAGER": " "}, 7, ["less", "-R", "+7g", str(LOG)]),
        ("pager", {"PAGER": "/usr/bin/less -SX"}, 7, ["/usr/bin/less", "-SX", "+7g", str(LOG)]),
        ("pager", {"PAGER": "more"}, 7, ["more", "+7", str(LOG)]),
        ("pager", {"PAGER": "lnav"}, 7, ["lnav", str(LOG)]),
        ("editor", {}, 7, ["vi", "+7", str(LOG)]),
        ("editor", {"EDITOR": "nano", "VISUAL": "nvim -R"}, 7, ["nvim", "-R", "+7", str(LOG)]),
        ("editor", {"EDITOR": "nano"}, None, ["nano", str(LOG)]),
        ("editor", {"EDITOR": "code --wait"}, 7, ["code", "--wait", "--goto", f"{LOG}:7"]),
        ("editor", {"EDITOR": "hx"}, 7, ["hx", f"{LOG}:7"]),
    ],
)
def test_each_program_gets_the_line_as_it_takes_it(kind, environment, line, words):
    assert command(kind, LOG, line, environment) == words


def test_a_variable_that_is_no_command_is_named():
    with pytest.raises(
        ValueError, match=r"^\$PAGER is not a command: a quote is not closed; a value that works is less -R\.$"
    ):
        command("pager", LOG, 1, {"PAGER": "less '"})


def test_a_program_that_is_not_there_is_said_in_one_sentence():
    assert run(["no-such-pager", "x"]) == "no-such-pager cannot be started: No such file or directory."
    assert run([sys.executable, "-c", "import signal; assert signal.getsignal(2) is signal.default_int_handler"]) == ""
