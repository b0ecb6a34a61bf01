"""Expressions of a person on lines of 20,000 letters, the real `regex` and `re`: each answers or gives up in bounded time."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry import pattern_text
from prl_tui.telemetry.line_index import LINE_LIMIT
from prl_tui.telemetry.slow_patterns import LINE_SECONDS, BoundedPattern, TooSlowError

SLOW = [
    "(a|b)*c", "[a-z]*[a-y]*[a-x]*q", ".*a.*a.*a.*q", r"(?=(a+))\1*q", "(a+)+$", ".*.*y", "(a|a)*$", "(a{1,9}){1,9}x",
    "(a*)*b", r"(\w+\s*)*x", "(?=(a+)+)b", "(?:a?){40}b", "a?" * 26 + "b", "(?<!a)(a|aa)+$", r"(a+)\1+\1+q",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SLOW)
@pytest.mark.parametrize("line", ["a" * 20_000, "a" * 40 + "!", "ab" * 10_000 + "!", "a" * 8_000 + "! b"])
def test_each_ends_in_bounded_time_and_says_so_where_it_does_not_know(pattern, line):
    bounded = BoundedPattern(pattern)
    began, said = time.monotonic(), ""
    try:
        bounded.found(line, LINE_LIMIT)
    except TooSlowError as error:
        said = str(error)
        with pytest.raises(TooSlowError):  # for good: another line costs nothing
            bounded.found(line, LINE_LIMIT)
    assert bool(said) == bounded.gave_up == said.startswith(f"{pattern}: takes too long")
    assert time.monotonic() - began < 20 * LINE_SECONDS


def test_many_slow_lines_are_too_much_too():
    bounded = BoundedPattern(r"([a-z]+)\d", seconds=0.05)
    with pytest.raises(TooSlowError):
        any(bounded.found("a" * 3000) for _ in range(500))


@pytest.mark.parametrize(
    "pattern", [r"[a-z]+\d", r"(?i)[A-Z]+\d", r"\w+\d", r"[a-z]+[0-9]+q", r"\w+\s+\w+;", ".*\\d", r"[^,]*,\d"]
)
def test_a_repetition_at_the_start_is_no_reason_to_give_up_on_lines_of_8_kib(pattern):
    """`re` needs 0.3 s and more for each of these lines, which is judged by a line of 64 letters instead."""
    bounded = BoundedPattern(pattern)
    for line in ("a" * LINE_LIMIT, "ab " * (LINE_LIMIT // 3), "a," * (LINE_LIMIT // 2)):
        for _ in range(100):
            assert bounded.found(line, LINE_LIMIT) == bool(re.search(pattern, line[:64]))
            assert bounded.spans(line, LINE_LIMIT) == []
    assert not bounded.gave_up


@pytest.mark.filterwarnings("ignore::FutureWarning")  # the judge's
@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"(?:foo){e} *.*", "foo{e} x"),
        (r"(?:foo){e} *.*", "fo x"),
        (r"[[(]+ .*", "[( x"),
        (r"[[:loss:]]+ .*", "s:] x"),
        (r"[+--]+ .*", "+,- x"),
        (r"[a||b]+&&.*", "a|&& x"),
        (r"[a-z]+?\d", "ab1c2 dd3"),
        (r"a+b*?", "aabbaab"),
        (r"\w+\b.*?", "ab cd"),
        (r".+?,", "a,b,c"),
        (r"x{2,3}.*y{,2}.*", "axxxbyyc"),
        (r"[]a]*[^]b]*{", "]]a{"),
        (r"(?i:LOSS)=.*\d+", "loss=x1"),
        (r"\{'loss': .*\d+.*\}", "{'loss': 0.5}"),
        (r"(?P<n>a+).*(?P=n)$", "aabaa"),
        (r"a(?#c{e}).*b.*", "axb"),
        (r"[\[{]+.*[\]}]+", "[{x}]"),
        ("\\N{DIGIT ONE}.*\\d*", "x1"),
        (r"^.*a$", "bba\n"),
    ],
)
def test_an_expression_means_what_it_means_to_re(pattern, line):
    judge = re.compile(pattern)
    for text in (line, line + " " * 2000):
        assert BoundedPattern(pattern).found(text) == bool(judge.search(text))
        spans = [match.span() for match in judge.finditer(text) if match.end() > match.start()]
        assert BoundedPattern(pattern).spans(text) == spans


def test_no_expression_makes_python_warn(recwarn):
    for pattern in ("[[a]", "[+--]+", "[a&&b]", "[a||b]", "[~~]", "[[:loss:]]"):
        bounded = BoundedPattern(pattern)
        bounded.found("a" * 3000)
        bounded.spans("a" * 3000)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("[[:alpha:]]+", "[:alpha:] is unknown here, [a-zA-Z]+ would work"),
        (r"x=[:digit:]+\[:space:]", r"[:digit:] is unknown here, x=[0-9]+\[:space:] would work"),
        ("[^[:space:][:punct:]_]", r"[:space:] is unknown here, [^\s!-/:-@\[-`{-~_] would work"),
    ],
)
def test_a_class_of_greps_is_refused_with_what_would_work(pattern, said):
    with pytest.raises(re.error, match=re.escape(said)):
        BoundedPattern(pattern)
    works = said.split(" is unknown here, ")[1].removesuffix(" would work")
    BoundedPattern(works)


LEADS = st.sampled_from(["a", "[ab]", r"\w", ".", "[^b]", r"\S", " "])
ITEMS = st.sampled_from(
    ["a", "b", " ", r"\d", r"\b", "$", "^", "(b)", "[a ]", ".", "b*", "a+?", "(a|b)", "b{2}", r"\s*"]
)


@given(LEADS, st.sampled_from(["+", "*", "+?", "*?"]), st.lists(ITEMS, max_size=3), st.text("ab1 ", max_size=12))
@settings(max_examples=400, deadline=None)
def test_what_is_asked_instead_finds_and_marks_the_same(lead, times, rest, line):
    """Judged by `re` with the expression as it was typed."""
    pattern = lead + times + "".join(rest)
    judge = re.compile(pattern)
    assert (re.search(pattern_text.for_finding(pattern), line) is not None) == (judge.search(line) is not None)
    marking = regex.compile(pattern_text.for_marking(pattern), regex.V0)
    spans = [[m.span() for m in one.finditer(line) if m.end() > m.start()] for one in (marking, judge)]
    assert spans[0] == spans[1] or times.startswith("*")


def test_a_plain_expression_on_ordinary_lines_needs_no_other_package():
    code = (
        "import sys; from prl_tui.telemetry.slow_patterns import BoundedPattern as B; B(r'loss \\d+').found('loss 1')"
    )
    subprocess.run([sys.executable, "-c", code + "; sys.exit('regex' in sys.modules)"], check=True)
