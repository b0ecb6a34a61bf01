"""What a parser, the shape checker and the operating system say is said in the language in force."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

import prl_tui
from prl_tui import i18n, reasons
from prl_tui.core import catalog, config_file, mistakes, recipe, shape

BROKEN = {
    "a = 1\na = 2": "this key has a value already",
    "a = {b = 1, b = 2}": "the key b stands twice in one table",
    "[a]\n[a]": "the table a was declared or filled before",
    "[a.b]\n[a.b]": "the table a.b was declared or filled before",
    "[[a]]\n[a]": "the table a was declared or filled before",
    "[a]\nb.c = 1\n[a.b]\nd = 1": "the table a.b was declared or filled before",
    "a = {}\n[a.b]": "the table a.b was declared or filled before",
    "a = {}\na.b = 1": "a has its value already, and takes no further keys",
    "a = {b = {}, b.c = 1}": "b.c has its value already, and takes no further keys",
    "= 1": "a line is “key = value”, “[table]” or a comment",
    "a = 1 2": "the line must end after its value",
    "[a": "] is missing here",
    "[[a]": "]] is missing here",
    "a 1": "= is missing here",
    "a = '''x": "''' is missing here",
    "a = 'x": "' is missing here",
    "a = 'x\ty\x01'": "the character \\x01 cannot stand here",
    "# \x01": "the character \\x01 cannot stand here",
    'a = "x\ny"': "the character \\n cannot stand here",
    "[a.]": "a key cannot begin like this; one in quotes may",
    "a = [1": "a list without its closing ]",
    "a = {b = 1": "a table without its closing }",
    r'a = "C:\dir"': "a backslash in \"…\" begins an escape; a text in '…' is taken as it stands",
    r'a = "\uzzzz"': "a backslash in \"…\" begins an escape; a text in '…' is taken as it stands",
    r'a = "\ud800"': "a backslash in \"…\" begins an escape; a text in '…' is taken as it stands",
    'a = "x': "a text without its closing quotes",
    "a = 2026-02-30": "there is no such date",
    "a = yes": "this is no value; a text needs quotes",
    "a = 1" + "0" * 5000: "a number has too many digits",
}
"""The parsers of Python 3.11 to 3.14 and tomli 2 were asked; the messages of both are the same."""


def fault(path: Path, text: str) -> str:
    """The one sentence about a file."""
    path.write_text(text, newline="")
    with pytest.raises(ValueError) as caught:
        catalog.read_toml(path)
    return str(caught.value)


def no_english(sentence: str, *but: str) -> bool:
    """Whether a Chinese sentence has no English words, but for names."""
    for word in but:
        sentence = sentence.replace(word, "")
    return not re.search(r"[A-Za-z]{2,}", sentence)


@pytest.mark.parametrize(("text", "words"), BROKEN.items())
def test_what_is_no_toml_is_told_in_both_languages(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x"
    assert re.fullmatch(rf"{path}, line \d+: not TOML: {re.escape(words)}\.", fault(path, text))
    i18n.set_language("zh")
    said = fault(path, text)
    assert no_english(said, str(path), "TOML", "\\x01"), said


def test_nesting_without_end_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert (
        fault(path, "a = " + "[" * 100_000) == f"{path}, line 1: lists or tables in one another, too deep for a config."
    )
    i18n.set_language("zh")
    assert no_english(fault(path, "a = " + "[" * 100_000), str(path))


FIELD = {"key": "a", "type": "int", "label": {"en": "a"}, "group": "batch"}
SHAPES = [
    (config_file.ConfigFile, {"recipe": 5}, "it must be a text in quotes, and is a whole number"),
    (config_file.ConfigFile, {"recipe": "a", "values": 3}, "it must be a table, and is a whole number"),
    (recipe.Preset, {"values": [1]}, "it must be a table, and is a list"),
    (recipe.Field, {**FIELD, "min": "a"}, "it must be a number, and is a text"),
    (recipe.Field, {**FIELD, "unset": 1.5}, "it must be a whole number, and is a number with a point"),
    (recipe.Field, {**FIELD, "choices": "a"}, "it must be a list in brackets, and is a text"),
    (recipe.Field, {**FIELD, "required": 1}, "it must be true or false, and is a whole number"),
    (recipe.Field, {**FIELD, "words": ["a"]}, "it must be a list of 2, and has 1"),
    (recipe.Text, {"en": "a", "de": "b"}, "there is no key de here"),
    (recipe.Text, {}, "the key en is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "table", "words"), SHAPES)
def test_a_wrong_shape_is_told_in_both_languages(declared, table, words: str) -> None:
    def said() -> str:
        with pytest.raises(shape.ShapeError) as caught:
            shape.check(table, declared)
        return shape.told(caught.value.what)

    assert said().startswith(words)
    i18n.set_language("zh")
    assert re.match(r"[^A-Za-z]*(true 或 false|torchrun|int|whole|bash|de|en|[^A-Za-z])", said()), said()
    assert not re.search("must|none of|there is|missing|Expected|Invalid", said())


NONE_OF = [
    (recipe.Field, {**FIELD, "type": "whole"}, "whole is none of int, float, str, path, bool, choice, list"),
    (recipe.PresetFile, {"schema": 2, "extends": "a", "presets": {}}, "2 does not work here; 1 would."),
    (recipe.RecipeFile, {"schema": 1, "name": "a", "title": {"en": "a"}, "program": {"bash": {}}},
     "there is no key bash here; there are torchrun, accelerate, swift, python."),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "table", "words"), NONE_OF)
def test_a_value_that_is_none_of_few_is_refused_and_told_in_both_languages(declared, table, words: str) -> None:
    with pytest.raises(shape.ShapeError):
        shape.check(table, declared)

    def said() -> str:
        (one,) = mistakes.found(table, declared)
        return one.reason

    assert said().startswith(words)
    i18n.set_language("zh")
    assert not re.search("none of|there is|does not", said())


@pytest.mark.parametrize("number", reasons.WORDS, ids=errno.errorcode.get)
def test_the_systems_reasons_are_its_own_in_english_and_translated(number: int) -> None:
    error = OSError(number, os.strerror(number), "/x")
    assert (reasons.of(error), reasons.WORDS[number]) == (os.strerror(number),) * 2  # as glibc has it
    assert reasons.of_file(error) == f"/x: {os.strerror(number)}"
    i18n.set_language("zh")
    assert no_english(reasons.of(error))
    assert reasons.told(os.strerror(number)) == reasons.of(error)


def test_words_of_our_own_and_unknown_numbers_stay() -> None:
    i18n.set_language("zh")
    assert reasons.of(OSError(errno.EINVAL, "it is a pipe", "/x")) == "it is a pipe"
    assert reasons.of(OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))) == os.strerror(errno.ENOTTY)
    assert reasons.of(OSError("bare")) == reasons.told("bare") == "bare"


def test_no_sentence_takes_the_systems_words_as_they_are() -> None:
    """The judge of the kind. What another process writes down stays English until it is told."""
    package = Path(prl_tui.__file__).parent
    found = {str(file.relative_to(package)) for file in package.rglob("*.py")
             if re.search(r"\b(error|problem)\.strerror\b", file.read_text("utf-8"))}  # fmt: skip
    assert found == {"reasons.py", "machine/doctor.py", "runs/guardian.py", "runs/launcher.py", "runs/logpump.py",
                     "runs/records.py", "runs/spawn.py", "runs/supervisor.py"}  # fmt: skip
