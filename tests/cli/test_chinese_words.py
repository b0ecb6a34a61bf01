"""argparse's own words in Chinese, by the installed argparse (3.10 to 3.13); nothing of its English is left."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from prl_tui import i18n
from prl_tui.core.stacks import STACKS
from prl_tui.i18n import cells
from prl_tui.lists import sentence
from prl_tui.telemetry.chart_text import frame_of, points_of, step_line
from prl_tui.telemetry.series import Series

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


def test_headings_and_lists_of_argparse_have_chinese_punctuation():
    text = said("launch", "-h")
    assert "\n位置参数：\n" in text
    assert "\n选项：\n" in text
    assert "\n命令：\n" in said("-h")
    assert not re.search(r"[\u4e00-\u9fff]:", text)
    assert "没有 frob 这个选择（可选：recipes、presets、gpus、" in said("frob")
    assert "没有 maybe 这个选择（可选：yes、no）" in said("recipes", "--trust", "maybe")
    formats = said("export", "-h")
    assert "command、oneline、bash" in formats
    assert max(map(cells, formats.splitlines())) <= 100


def test_lists_have_the_chinese_separator():
    text = said("export", "demo", "--format", "x")
    assert "command、oneline、bash" in text
    assert "，bash" not in text
    told = said("check", "prl-grpo", "--set", "train_type=x")
    assert "lora、full" in told


def test_the_environment_of_prl_tui_itself_has_words():
    assert said("doctor", "--env", "this").count("当前环境") == 1
    assert "环境 PATH" in said("doctor")


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


def test_a_sentence_ends_in_a_full_stop_of_its_language():
    assert said("logs", "nosuch") == "prl-tui：没有训练 nosuch。\n"
    assert said("--lang", "en", "logs", "nosuch") == "prl-tui: There is no run nosuch.\n"
    assert said("launch", "nosuch", "--promote") == "prl-tui：没有训练 nosuch。\n"
    assert [sentence(one) for one in ("a", "a.", "a?", "甲？", "甲。")] == ["a.", "a.", "a?", "甲？", "甲。"]


def test_full_width_punctuation_of_a_value_stands_without_a_blank():
    told = said("check", "prl-grpo", "--set", "num_generations=3")
    assert "（PRL 分支）中" in told
    assert "） " not in told
    # in English nothing is closed up, and a Latin value keeps its thin blank
    assert "ms-swift 4.4" in said("check", "swift-grpo")
    assert i18n.t("with {stack} it works", stack="（x）") == "with （x） it works"


def test_the_columns_of_the_presets_are_headed_as_on_the_screen():
    head, first = said("presets", "prl-grpo").splitlines()[:2]
    assert head.split() == ["GPU", "batch", "生成", "全局"]
    numbers = re.match(r"\S+(?: +[\d–]+){4}", first)
    assert numbers is not None
    assert cells(head) == cells(numbers[0])


def test_a_chart_says_step_in_chinese():
    i18n.set_language("zh")
    try:
        assert step_line(frame_of([points_of(series())]), 40).split()[:3] == ["第", "1", "步"]
    finally:
        i18n.set_language("en")


def series():
    return Series.of((step, float(step)) for step in range(1, 9))
