"""Judge: PyYAML 6.0's safe_load and Python's json give back every value that was written."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from prl_tui.core import scalars, values

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
AWKWARD = [
    "", " ", "a: b", "# no comment", "- x", "'", '"', "\\", "\\n", "null", "~", "yes", "0x10", "1:30", "2026-01-01", "=", "<<",
    "中文：冒号", "line\nbreak", "\r\n", "tab\there", "\x85", "\u2028", "\ufeff", "\ufffe", "\x7f", "\x9f", "%TAG", "---", "...",
    "&a", "*a", "!t", "{a: 1}", "[1]", "`x`", "$HOME", "@" * 196, "😀", "trailing ", "?", "|", ">",
]  # fmt: skip


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_texts_come_back(text):
    assert yaml.safe_load(f"a: {scalars.text(text)}\n") == {"a": text}
    assert json.loads(scalars.text(text)) == text


@given(TEXTS)
def test_every_text_comes_back(text):
    assert yaml.safe_load(f"a: {scalars.text(text)}\n") == {"a": text}
    assert json.loads(scalars.text(text)) == text


@given(TEXTS)
@example("λ_init")
@example("y")
@example("1e5")
@example("k")
def test_every_key_comes_back(name):
    assert yaml.safe_load(f"{scalars.key(name)}: 1\n") == {name: 1}


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,6})?(\.[0-9]{0,6})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


@given(NUMBERS.filter(values.is_decimal))
@example("5e-7")
@example("1E5")
@example("-.5")
@example("2.")
def test_every_number_comes_back_as_a_number(text):
    made = scalars.number(text)
    for read in (yaml.safe_load(f"a: {made}\n")["a"], json.loads(made)):
        assert isinstance(read, (int, float)), made
        assert read == float(text)


@pytest.mark.parametrize(
    "value", [True, False, 5e-7, 500000000, 1e-6, -0.0, ["a", 1, True], "no", 1.0, None, {"a": {"b: c": [None, 2e-7]}}]
)
def test_constants_come_back(value):
    assert yaml.safe_load(f"a: {scalars.constant(value)}\n") == {"a": value}
