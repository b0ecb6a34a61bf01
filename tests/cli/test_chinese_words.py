"""argparse's own words in Chinese, by the installed argparse (3.10 to 3.13); nothing of its English is left."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from prl_tui import i18n
from prl_tui.core.stacks import STACKS

ENGLISH = ("usage", "positional", "options", "error", "argument", "show this", "required", "invalid", "unrecognized")


def said(*words):
    environment = {**os.environ, "PRL_TUI_LANG": "zh", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", "prl_tui", *words], capture_output=True, text=True, env=environment, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["-h"],
        ["check", "-h"],
        ["runs", "-h"],
        ["frob"],
        ["check"],
        ["check", "demo", "--rows", "x"],
        ["check", "demo", "--rows"],
        ["check", "demo", "--frob"],
        ["check", "demo", "--s", "x"],
        ["launch", "demo", "--detach", "--foreground"],
        ["recipes", "--trust", "maybe"],
        ["recipes", "--json=3"],
    ],
)
def test_no_english_word_of_argparse_is_left(words):
    text = said(*words)
    assert "用法：" in text
    assert not [word for word in ENGLISH if word in text], text


def test_english_stays_argparses_own():
    done = subprocess.run([sys.executable, "-m", "prl_tui", "check"], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("usage: ")
    assert "error: the following arguments are required: SOURCE" in done.stderr


def test_stack_titles_are_chinese_where_they_have_words():
    i18n.set_language("zh")
    try:
        said_now = [stack.said for stack in STACKS.values()]
    finally:
        i18n.set_language("en")
    assert not [title for title in said_now if " later" in title or "fork" in title or "rule" in title]
    assert "ms-swift 3.3（PRL 分支）" in said_now
