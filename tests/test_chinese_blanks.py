"""Blanks in Chinese sentences: one between Chinese and Latin or digits, none between two Chinese characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from babel.messages.pofile import read_po

from prl_tui import i18n
from prl_tui.telemetry.durations import format_duration
from prl_tui.telemetry.quiet import late_words

CATALOGUE = i18n.LOCALE_DIR / "zh_CN" / "LC_MESSAGES" / "prl_tui.po"
OURS = "|".join(sorted(i18n._OWN_WORDS))


@pytest.fixture(autouse=True)
def chinese() -> Iterator[None]:
    i18n.set_language("zh")
    yield
    i18n.set_language("en")


def test_no_sentence_has_a_blank_between_two_chinese_characters() -> None:
    with CATALOGUE.open("rb") as file:
        sentences = [
            text for one in read_po(file) for text in ([one.string] if isinstance(one.string, str) else one.string)
        ]
    assert len(sentences) > 1000
    assert [text for text in sentences if re.search(r"[\u4e00-\u9fff] [\u4e00-\u9fff]", text)] == []


def test_a_time_and_a_label_close_up_with_the_chinese_beside_them() -> None:
    assert late_words(33.0) == "最后一次输出在 33 秒前"
    assert i18n.t("not recorded for {time}", time=format_duration(33.0)) == "有 33 秒没有记录"
    assert i18n.t("{label} has no effect below ZeRO stage {least}.", label="学习率", least=2).endswith(
        "，学习率不起作用。"
    )
    latin = i18n.t("{label} has no effect below ZeRO stage {least}.", label="lr", least=2)
    assert latin.endswith("，lr 不起作用。"), "Latin keeps its blank"


def test_behind_a_path_the_blank_stays_since_it_shows_its_end() -> None:
    assert i18n.t("{path} does not exist.", path="/data/数据").startswith("/data/数据 ")
