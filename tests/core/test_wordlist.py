"""Free arguments and variables: a shell's quotes (judge: Python's shlex), and no secret that is kept anywhere."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prl_tui import i18n
from prl_tui.core import catalog, checks, config_file, open_quote, plan, values, wordlist
from prl_tui.core.config import Source, resolve
from prl_tui.export import bash
from tests.plain_texts import is_plain

RECIPE = catalog.load(only="custom").recipes["custom"]
ARGUMENTS, VARIABLES = RECIPE.by_key["arguments"], RECIPE.by_key["environment"]
TOKEN = "hf_abcdefghijklmnopqrstuvwxyz0123"


def config(**changes):
    return resolve(RECIPE, "torchrun").with_values(changes, Source.SET)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12), max_size=5))
def test_words_come_back_from_their_text(words):
    kept = tuple(words)
    assert wordlist.split(wordlist.join(kept)) == kept
    if not any(word.startswith("-") for word in words) and is_plain(*words):
        assert values.parse(ARGUMENTS, wordlist.join(kept)) == (kept, "")


LIST = catalog.load(only="swift-sft").recipes["swift-sft"].by_key["dataset"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12), max_size=5))
@example(["a b", "", "it's", "x\\y", "AI-MO/NuminaMath-TIR#5000", "ms::a/b:c", "*.jsonl", "$HOME", "我\u3000的"])
def test_a_shown_list_reads_back_and_quotes_only_what_needs_it(items):
    shown = values.show(LIST, tuple(items))
    assert wordlist.split(shown) == tuple(shlex.split(shown)) == tuple(items)
    parsed, problem = values.parse(LIST, shown)
    assert (parsed, problem) == (tuple(items), "") if "" not in items else "an item is empty" in problem
    if all(item and not set(item) & set(" \t\r\n'\"\\") for item in items):
        assert shown == " ".join(items)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("'/data/x y", "the quote at character 1, “'/data/x y”, is left open; “'/data/x y'” would work."),
        ('a "b', 'the quote at character 3, “"b”, is left open; “a "b"” would work.'),
        ("'a' it's", "the quote at character 7, “'s”, is left open; “'a' it\\'s” would work."),
        ("a\\", "the backslash at the end escapes nothing; “a\\\\” would work."),
        ("x" * 80 + " '" + "y" * 80, f"at character 82, “'{'y' * 23}…”, is left open; “'a b' c” would work."),
    ],
)
def test_an_open_quote_in_a_list_says_where_it_opens_and_what_works(text, told):
    value, problem = values.parse(LIST, text)
    assert value is None
    assert problem.startswith("dataset: ")
    assert problem.endswith(told)


@pytest.mark.parametrize("text", ["--hub_token 'hf_abcdefghijklmnopqrstuvwxyz", "'--password=geheim7"])
def test_an_open_quote_before_a_secret_tells_nothing_of_it(text):
    value, problem = values.parse(ARGUMENTS, text)
    assert value is None
    assert f"the quote at character {text.index(chr(39)) + 1} is left open; “'a b' c” would work." in problem
    assert "hf_" not in problem
    assert "geheim" not in problem


@given(st.text(alphabet="ab '\"\\=-", max_size=70))
def test_what_is_said_to_work_instead_of_an_open_quote_does(text):
    try:
        wordlist.split(text)
    except ValueError:
        _, problem = values.parse(ARGUMENTS, text)
        wordlist.split(problem.rpartition("; “")[2].removesuffix("” would work."))
        at = open_quote.opening(text)
        assert at is None or text[at] in "'\""


def test_the_help_of_a_list_says_how_a_blank_is_typed():
    assert "one with a blank in it stands in quotes" in wordlist.about(LIST)
    assert wordlist.about(ARGUMENTS) == str(ARGUMENTS.help)
    i18n.set_language("zh")
    try:
        assert "须加引号" in wordlist.about(LIST)
    finally:
        i18n.set_language("en")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--a 1 --b 'x y'", ("--a", "1", "--b", "x y")),
        ('--p "$HOME"', ("--p", "$HOME")),
        ("a\\ b", ("a b",)),
        ("''", ("",)),
    ],
)
def test_text_is_read_as_a_shell_quotes(text, words):
    assert values.parse(ARGUMENTS, text) == (words, "")


def test_an_open_quote_is_named():
    found = checks.check(config(arguments='--a "b'))
    assert [(f.code, f.field) for f in found.findings] == [
        ("bad-value", "arguments")
    ] or "is left open" in found.findings[0].message
    assert [fix.changes for fix in found.findings[0].fixes] == [{"arguments": '--a "b"'}]
    assert not checks.check(config(arguments='--a "b"')).findings


def test_variables_come_as_text_list_or_table():
    want = ("A=1", "B=x y", "HF_TOKEN")
    assert values.parse(VARIABLES, "A=1 'B=x y' HF_TOKEN") == (want, "")
    assert values.parse(VARIABLES, list(want)) == (want, "")
    assert values.parse(VARIABLES, {"A": 1, "B": "x y"}) == (want[:2], "")


@pytest.mark.parametrize(
    "raw", [{"A": {"B": 1}}, {"A": True}, {"A": [1, 2]}, [1, True], [{"a": 1}], [[1]], True, [None]], ids=str
)
@pytest.mark.parametrize("field", [ARGUMENTS, VARIABLES], ids=["arguments", "environment"])
def test_tables_lists_and_yes_or_no_within_free_words_are_refused(field, raw):
    value, problem = values.parse(field, raw)
    assert value is None
    assert f"{field.key} is not a list of texts; " in problem


def test_a_table_is_no_list_of_arguments():
    assert values.parse(ARGUMENTS, {"lr": 1})[1] == "arguments is not a list of texts; --epochs 1 would work."


def test_a_word_that_is_no_variable_is_named():
    assert "“1A” is no NAME=VALUE" in values.parse(VARIABLES, "1A=2")[1]


SECRETS = [
    {"environment": f"WANDB_API_KEY={TOKEN} A=1"},
    {"environment": {"MY_SECRET": "topsecret-value"}},
    {"environment": f"X={TOKEN}"},
    {"environment": "MY_PASSWORD=topsecret-value 'open"},
    {"arguments": ["--hub_token", "topsecret-value"]},
    {"arguments": "--api-key=topsecret-value"},
    {"arguments": f"--data s3://{TOKEN}@x"},
    {"arguments": "--hub_token topsecret-value 'open"},
]


@pytest.mark.parametrize("changes", SECRETS)
def test_a_secret_is_an_error_and_is_written_nowhere(changes):
    made = config(**changes)
    found = checks.check(made)
    assert not found.ok
    told = [f.message + f.why for f in found.findings]
    texts = [
        config_file.dump(made),
        bash.export(plan.build(made)).text,
        repr(made.settings),
        *plan.build(made).argv,
        *told,
    ]
    for text in texts:
        assert "topsecret-value" not in text
        assert TOKEN not in text


@pytest.mark.parametrize("word", ["TOKENIZERS_PARALLELISM=false", "NUM_TOKENS=4", "KEYBOARD=us", "MONKEY=1"])
def test_ordinary_names_are_no_secrets(word):
    assert values.parse(VARIABLES, word) == ((word,), "")


@pytest.mark.parametrize(
    "text", ["--image_special_token @@", "--pad_token '<pad>'", "--tokenizer x", "--key_file k.pem"]
)
def test_ordinary_arguments_are_no_secrets(text):
    assert values.parse(ARGUMENTS, text) == (tuple(shlex.split(text)), "")


def test_a_config_file_keeps_the_words(tmp_path):
    made = config(arguments="--a 'b c' --d", environment={"A": "x y", "B": "中"})
    (tmp_path / "c.toml").write_text(config_file.dump(made), "utf-8")
    back = config_file.read(tmp_path / "c.toml", catalog.load(only="custom"))
    assert plan.build(back).argv == plan.build(made).argv
    assert plan.build(back).env == plan.build(made).env == (("A", "x y"), ("B", "中"))
