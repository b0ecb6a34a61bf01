"""Expressions of a person on lines of 20,000 letters, the real `regex` and `re`: each answers or gives up in bounded time."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

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
    bounded = BoundedPattern(r"[a-z]+\d", seconds=0.05)
    with pytest.raises(TooSlowError):
        any(bounded.found("a" * 3000) for _ in range(500))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"(?:foo){e} *.*", "foo{e} x"),
        (r"(?:foo){e} *.*", "fo x"),
        (r"[[:alpha:]]+ .*", "a: x"),
        (r"[[:alpha:]]+ .*", "z] x"),
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


def test_a_plain_expression_on_ordinary_lines_needs_no_other_package():
    code = (
        "import sys; from prl_tui.telemetry.slow_patterns import BoundedPattern as B; B(r'loss \\d+').found('loss 1')"
    )
    subprocess.run([sys.executable, "-c", code + "; sys.exit('regex' in sys.modules)"], check=True)
