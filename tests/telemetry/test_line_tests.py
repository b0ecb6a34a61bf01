"""What a person types to search or filter by."""

from __future__ import annotations

import pytest

from prl_tui.telemetry.line_tests import LevelTest, LineFilter, PatternTest, TextTest, search_test


@pytest.mark.parametrize(
    ("typed", "line", "spans"),
    [
        ("loss", "Loss and loss", [(0, 4), (9, 13)]),
        ("Loss", "Loss and loss", [(0, 4)]),
        ("[/INST]", "x [/INST]", [(2, 9)]),
        ("re:lo+s", "LOOS loos", [(0, 4), (5, 9)]),
        ("re:L\\w", "loss Loss", [(5, 7)]),
        ("re:\\D\\d", "a1 B2", [(0, 2), (3, 5)]),
        ("re:x*", "axb", [(1, 2)]),
        ("re:", "a re: b", [(2, 5)]),
        ("a.c", "abc", []),
    ],
)
def test_a_text_is_as_it_stands_and_re_begins_an_expression(typed, line, spans):
    test = search_test(typed)
    assert list(test.spans(line)) == spans
    assert test.hits(line) == bool(spans)
    assert test.needle == typed


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("re:(", "(: not a regular expression: missing ), unterminated subpattern at position 0."),
        ("re:a{2", None),
        ("re:[(]+)", "[(]+): not a regular expression"),
    ],
)
def test_what_is_no_expression_is_refused_in_a_sentence(typed, said):
    if said is None:
        search_test(typed)
        return
    with pytest.raises(ValueError) as refused:
        search_test(typed)
    assert str(refused.value).startswith(said)


def test_an_expression_looks_at_the_first_8_kib_of_a_line():
    assert search_test("re:x$y?|b").hits("a" * 8191 + "b")
    assert not search_test("re:b").hits("a" * 8192 + "b")
    assert not search_test("re:.*x").hits("a" * 5_000_000)


def chosen(wanted, *lines):
    return list(wanted.chosen([line.encode() for line in lines]))


def test_a_filter_keeps_what_all_of_its_tests_let_through():
    lines = ("loss 1", "eval_loss 2", "INFO x", "WARNING: loss", "\x1b[31mlo\x1b[0mss", "old\rloss now")
    assert chosen(LineFilter(only=(TextTest("loss"),)), *lines) == [0, 1, 3, 4, 5]
    assert chosen(LineFilter(without=(TextTest("loss"),)), *lines) == [2]
    assert chosen(LineFilter((TextTest("loss"),), (TextTest("eval"), PatternTest("", r"\d"))), *lines) == [3, 4, 5]
    assert chosen(LineFilter(only=(LevelTest.from_on("warning"), TextTest("loss"))), *lines) == [3]
    assert chosen(LineFilter(only=(TextTest("old"),)), *lines) == [], "only what is shown of a line counts"
    assert chosen(LineFilter(), *lines) == list(range(6))
    assert chosen(LineFilter(without=(TextTest("absent"),)), *lines) == list(range(6))
    assert chosen(LineFilter(only=(TextTest("absent"),))) == []
