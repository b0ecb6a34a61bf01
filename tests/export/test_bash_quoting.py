"""Arbitrary text in a config reaches the program byte for byte through real bash, and nothing in it is executed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.core.config import RunConfig, Source, resolve
from tests.export.scripts import Bench, recipe, script, text_field
from tests.plain_texts import is_plain

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=30).filter(
    is_plain
)
SHELL = st.sampled_from(
    ["$(touch canary)", "`touch canary`", "';touch canary;'", '";touch canary;"', "$HOME", "${x}", "!!", "*", "~", "a b", " ", "\n",
     "\\", "'", '"', "-n", "--", "\\\n", "$'\\n'", "{a,b}", "#", "a\r\nb", "\x1b[2J", "\x7f", "中文", "🚀", "\u2028", "%s%n", "EOF",
     "{inner}", "&", "|", "<(x)", "[[ x ]]", "}", "'\"'\"'"]
)  # fmt: skip
VALUE = st.one_of(TEXT, st.lists(SHELL | TEXT, min_size=1, max_size=4).map("".join)).filter(is_plain)

TEXTS = recipe(
    text_field("a"), text_field("b", "path"), text_field("inner", default="x"),
    text_field("outer", "path", default="pre '{inner}' $(touch canary).jsonl", template=True), text_field("items", "list"),
)  # fmt: skip


def expected(config: RunConfig) -> list[str]:
    words = ["python", "train.py", "--a", config.value("a"), "--b", config.value("b"), "--inner", config.value("inner")]
    return [*words, "--outer", config.value("outer"), "--items", *config.value("items")]


def texts(a: str, b: str, inner: str, items: list[str]) -> RunConfig:
    return resolve(TEXTS).with_values({"a": a, "b": b, "inner": inner, "items": items}, Source.SET)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("quoting"))


@pytest.mark.slow
@given(VALUE, VALUE, VALUE, st.lists(VALUE, min_size=1, max_size=3))
@settings(max_examples=300)
def test_text_path_template_and_list_arrive_byte_for_byte(
    shared: Bench, a: str, b: str, inner: str, items: list[str]
) -> None:
    config = texts(a, b, inner, items)
    outcome = shared.run(script(config), cwd=shared.bin)
    assert outcome.err == ""
    assert outcome.argv == expected(config)
    assert outcome.argv is not None
    assert f"pre '{inner}' $(touch canary).jsonl" in outcome.argv
    assert not (shared.bin / "canary").exists()


@pytest.mark.slow
@given(VALUE, VALUE)
@settings(max_examples=100)
def test_text_from_a_variable_arrives_byte_for_byte(shared: Bench, a: str, inner: str) -> None:
    config = texts("x", "y", "z", ["i"])
    outcome = shared.run(script(config), cwd=shared.bin, PRL_A=a.encode(), PRL_INNER=inner.encode())
    assert outcome.argv == expected(texts(a, "y", inner, ["i"]))
    assert not (shared.bin / "canary").exists()


def test_bytes_that_are_not_utf_8_arrive_from_a_variable(shared: Bench) -> None:
    outcome = shared.run(script(texts("x", "y", "z", ["i"])), PRL_A=b"\xff\xfe")
    assert outcome.argv is not None
    assert outcome.argv[3] == "\udcff\udcfe"
