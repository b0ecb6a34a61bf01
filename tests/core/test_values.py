"""Raw values to checked ones: what is refused, what is accepted, and that every example really works."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from prl_tui.core import catalog, values
from prl_tui.core.config import Source, resolve
from prl_tui.core.recipe import Field, Text
from prl_tui.core.value import replace
from tests.built_in import RECIPES

EVERY_FIELD = [pytest.param(field, id=f"{r.name}-{field.key}") for r in RECIPES.values() for field in r.fields]


def field(kind: str, **more: object) -> Field:
    return Field(key="x", type=kind, label=Text("x"), group="batch", **more)  # type: ignore[arg-type]


NOT_NUMBERS = [
    "2abc", "08", "007", "1_000", "1,000", "４", "٤", "a[$(touch /tmp/x)]", "$((1))", "+4", "0x10", "1e400", "nan",
    "inf", "-inf", "--1", "-", ".", "1e", "e5", "1.2.3", "2+2", "4 4", "true", True,
    float("nan"), float("inf"), datetime.date(2026, 1, 1), ["4", "5"],
]  # fmt: skip


@pytest.mark.parametrize("raw", ["9" * 16, 10**15, "9" * 400, 10**400])
def test_a_whole_number_of_more_than_fifteen_digits_is_too_large(raw: object) -> None:
    assert "is too large; 999999999999999 is the greatest that works." in values.parse(field("int"), raw)[1]
    assert "is too large; 60 is the greatest that works." in values.parse(field("int", max=63, multiple=4), raw)[1]


@pytest.mark.parametrize("raw", [*NOT_NUMBERS, "4.0", "-0", "1e3", 4.0])
def test_what_is_not_a_plain_whole_number_is_refused(raw: object) -> None:
    value, problem = values.parse(field("int"), raw)
    assert value is None
    assert "is not a whole number; 1 would work." in problem


@pytest.mark.parametrize("raw", [*NOT_NUMBERS, "9" * 400, 10**400])
def test_what_is_not_a_plain_number_is_refused(raw: object) -> None:
    value, problem = values.parse(field("float"), raw)
    assert value is None
    assert "is not a number; 1 would work." in problem


@pytest.mark.parametrize(("raw", "value"), [("0", 0), ("4", 4), (" 4 ", 4), ("-2", -2), (7, 7), ("9" * 15, 10**15 - 1)])
def test_plain_whole_numbers_are_accepted(raw: object, value: int) -> None:
    assert values.parse(field("int"), raw) == (value, "")


@pytest.mark.parametrize(
    ("raw", "value"),
    [("0.40", 0.4), (".5", 0.5), ("5.", 5.0), ("1e-6", 1e-6), ("1E+3", 1000.0), ("-0.5", -0.5), ("10", 10), (2, 2)],
)
def test_plain_numbers_are_accepted(raw: object, value: float) -> None:
    assert values.parse(field("float"), raw) == (value, "")


@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.parametrize(
    ("raw", "problem"), [("1", "x must be at least 2, not 1."), ("9", "x must be at most 8, not 9.")]
)
def test_a_number_outside_its_bounds_is_kept_beside_its_problem(kind: str, raw: str, problem: str) -> None:
    assert values.parse(field(kind, min=2, max=8), raw) == (int(raw), problem)


@pytest.mark.parametrize(("raw", "near"), [("97", "96"), ("98", "96"), ("99", "100"), ("9", "8")])
def test_a_number_that_is_no_multiple_names_one_that_works(raw: str, near: str) -> None:
    problem = f"x must be a multiple of 4, not {raw}; {near} would work."
    assert values.parse(field("int", min=8, max=4096, multiple=4), raw) == (int(raw), problem)


@pytest.mark.parametrize("raw", ["true", "1", "yes", "on", "True", "YES", " on ", True, 1])
def test_spellings_of_yes(raw: object) -> None:
    assert values.parse(field("bool"), raw) == (True, "")


@pytest.mark.parametrize("raw", ["false", "0", "no", "off", "False", False, 0])
def test_spellings_of_no(raw: object) -> None:
    assert values.parse(field("bool"), raw) == (False, "")


@pytest.mark.parametrize("raw", ["2", "ja", "是", "truee", "t", 2, 0.5])
def test_other_words_are_neither_yes_nor_no(raw: object) -> None:
    value, problem = values.parse(field("bool", words=("True", "False")), raw)
    assert value is None
    assert problem.endswith("is neither True nor False.")


def test_a_choice_is_one_of_its_choices_letter_for_letter() -> None:
    choice = field("choice", choices=("0", "True"))
    assert values.parse(choice, "True") == ("True", "")
    assert values.parse(choice, 0) == ("0", "")
    for wrong in ("true", "TRUE", " True", "1"):
        assert values.parse(choice, wrong) == (None, f"x: “{wrong}” is not one of 0, True.")
    assert values.parse(choice, [0]) == (None, "x: “[0]” is not one of 0, True.")  # nor what a file kept of such a one


@pytest.mark.parametrize("kind", ["str", "path", "list", "gpus", "int", "json"])
@pytest.mark.parametrize(("raw", "word"), [("a\x00b", "NUL"), ("a\udcffb", "UTF-8")])
def test_text_that_no_program_can_receive_is_refused(kind: str, raw: str, word: str) -> None:
    value, problem = values.parse(field(kind), [raw] if kind == "list" else raw)
    assert value is None
    assert word in problem


@pytest.mark.parametrize("raw", ["{", "{'a': 1}", "[" * 100_000, datetime.date(2026, 1, 1)])
def test_what_is_not_json_is_refused(raw: object) -> None:
    value, problem = values.parse(field("json"), raw)
    assert value is None
    assert "is not JSON" in problem


def test_json_keeps_its_own_text_and_tables_become_json() -> None:
    assert values.parse(field("json"), '{"b":  1}') == ('{"b":  1}', "")
    assert values.parse(field("json"), {"名": [1, None]}) == ('{"名": [1, null]}', "")


def test_a_list_is_split_at_white_space_and_an_array_is_not() -> None:
    assert values.parse(field("list"), " a  b\nc ") == (("a", "b", "c"), "")
    assert values.parse(field("list"), ["a b", 1]) == (("a b", "1"), "")


@pytest.mark.parametrize("one", EVERY_FIELD)
def test_the_example_in_each_sentence_really_works(one: Field) -> None:
    value, problem = values.parse(one, values.example(one))
    assert problem == ""
    assert value is not None


@pytest.mark.parametrize("one", EVERY_FIELD)
def test_every_default_is_a_right_value_of_its_field(one: Field) -> None:
    if one.template:
        pytest.skip("it follows other fields")
    assert values.parse(one, one.default)[1] == ""


@pytest.mark.parametrize("one", EVERY_FIELD)
def test_what_a_field_shows_reads_back_as_the_same_value(one: Field) -> None:
    value, _ = values.parse(one, None if one.template else one.default)
    if value is not None:
        assert values.parse(one, values.show(one, value)) == (value, "")


def test_a_long_wrong_value_is_shortened_in_its_sentence() -> None:
    assert len(values.parse(field("int"), "x" * 10_000_000)[1]) < 150


@pytest.mark.parametrize("item", [{"a": 1}, ["x"], True, datetime.date(2026, 1, 1), None])
def test_a_list_takes_texts_and_numbers_and_nothing_else(item: object) -> None:
    one = field("list", default=["a", "b"])
    assert values.parse(one, ["a", 3, 0.5]) == (("a", "3", "0.5"), "")
    value, problem = values.parse(one, ["a", item])
    assert value is None
    assert problem.endswith("is not a list of texts; a b would work.")


@pytest.mark.parametrize("kind", ["str", "path", "gpus"])
@pytest.mark.parametrize("raw", [{"a": 1}, True, datetime.date(2026, 1, 1)])
def test_a_text_is_no_table_list_date_or_yes(kind: str, raw: object) -> None:
    value, problem = values.parse(field(kind), raw)
    assert value is None
    assert "is not a text; " in problem
    assert values.parse(field(kind), 0) == ("0", "")


@pytest.mark.parametrize(
    ("kind", "raw", "told"),
    [
        ("path", ["/data/我 的/a.jsonl"], '“["/data/我 的/a.jsonl"]” is a list, and one text is needed; "/data/我 的/a.jsonl" would work.'),
        ("gpus", [0, 1], '“[0, 1]” is a list, and one text is needed; "0,1" would work.'),
        ("str", [{"a": True}], "“[{ a = true }]” is a list, and one text is needed; name would work."),
        ("path", {"a b": 'x"'}, '“{ "a b" = "x\\"" }” is not a text; ./x would work.'),
        ("str", datetime.date(2026, 1, 1), "“2026-01-01” is not a text; name would work."),
        ("int", ["x"], "“[\"x\"]” is not a whole number; 1 would work."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_as_toml_writes_it(kind: str, raw: object, told: str) -> None:
    assert values.parse(field(kind), raw)[1] == f"x: {told}"


@pytest.mark.parametrize("raw", ["NaN", "[Infinity]", float("nan")])
def test_json_has_no_constants_of_python(raw: object) -> None:
    assert "is not JSON" in values.parse(field("json"), raw)[1]


def test_only_the_blanks_of_a_shell_separate_the_words_of_a_list() -> None:
    config = resolve(catalog.load(only="swift-grpo").recipes["swift-grpo"]).with_values(
        {"dataset": "数据\u3000集.jsonl b\u00a0c \t d"}, Source.SET
    )
    assert config.value("dataset") == ("数据\u3000集.jsonl", "b\u00a0c", "d")


@pytest.mark.parametrize(
    "bounds",
    [
        {"min": 0.5, "max": 0.9},
        {"max": -3},
        {"min": 0.2},
        {"type": "int", "min": 5, "multiple": 4},
        {"type": "int", "max": 0},
        {"type": "json", "default": "{"},
        {"type": "int", "default": "abc"},
    ],
)
def test_the_value_that_would_work_works(bounds: dict[str, Any]) -> None:
    told = {"key": "k", "type": "float", "label": Text("k"), "group": "data"}
    own = Field(**{**told, **bounds})
    assert values.parse(replace(own, default=None), values.example(own))[1] == ""
