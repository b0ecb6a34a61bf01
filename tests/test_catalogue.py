"""The Chinese catalogue is whole, fits its sentences, and is what a person with that language sees."""

from __future__ import annotations

import ast
import gettext
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from prl_tui import i18n
from prl_tui.core import plan
from prl_tui.core.config import resolve
from prl_tui.core.recipe import Text
from prl_tui.export import bash
from tests.built_in import RECIPES
from tests.tools import catalogue

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PRESETS = sorted((ROOT / "presets").glob("*.toml"))


@pytest.fixture
def chinese() -> Iterator[None]:
    i18n.set_language("zh")
    yield
    i18n.set_language("en")


# --- the catalogue itself -----------------------------------------------------------------------------------------


def test_every_sentence_of_the_code_is_translated_and_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    code = catalogue.check()
    assert code == 0, capsys.readouterr().out


@pytest.mark.slow
def test_update_keeps_translations_drops_what_is_gone_and_gives_the_same_bytes_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = catalogue.read_po()
    path = tmp_path / "prl_tui.po"
    more = {**before.translations, "nobody says this": "没人这么说"}
    path.write_text(catalogue.po_text(before.head, {key: ["a.py"] for key in more}, more), "utf-8")
    files = [path, path.with_suffix(".mo")]
    catalogue.update(path)
    assert "dropped: 'nobody says this' (没人这么说)" in capsys.readouterr().out
    first = [file.read_bytes() for file in files]
    catalogue.update(path)
    assert [file.read_bytes() for file in files] == first
    after = catalogue.read_po(path)
    assert after.head == before.head
    assert {key: text for key, text in after.translations.items() if key in before.translations and text} == {
        key: text for key, text in before.translations.items() if key in after.translations and text
    }


def test_pythons_own_gettext_reads_the_compiled_file() -> None:
    pairs = {"one": "一", "two {n}\nlines": "两 {n}\n行", "untranslated": ""}
    read = gettext.GNUTranslations(io.BytesIO(catalogue.mo_bytes(pairs)))
    assert [read.gettext(key) for key in pairs] == ["一", "两 {n}\n行", "untranslated"]


# --- what the extractor reads -------------------------------------------------------------------------------------


def extracted(folder: Path, code: str, name: str = "part.py") -> catalogue.Sentences:
    (folder / name).write_text(code, "utf-8")
    return catalogue.extract(folder)


def test_literals_joined_literals_both_counts_and_marked_data_are_sentences(tmp_path: Path) -> None:
    found = extracted(
        tmp_path,
        """
from prl_tui import i18n
from prl_tui.i18n import mark, nt, t as said

WORDS = {"a": mark("marked")}
def f(key, n):
    said("one " "sentence", )
    said("yes" if n else "no")
    nt("{n} card", "{n} cards", n)
    said(WORDS[key])
    i18n.t("by module {n}", n=n)
    thing.mark(key, n)
    "".t(key)
""",
    )
    assert found.problems == []
    assert set(found.files) == {"marked", "one sentence", "yes", "no", "{n} card", "{n} cards", "by module {n}"}


def test_marked_data_of_another_module_is_known(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("from prl_tui.i18n import mark\nA = (mark('x'), mark('y'))\n", "utf-8")
    found = extracted(tmp_path, "from prl_tui.i18n import t\nfrom prl_tui.words import A\nt(A[0])\n")
    assert found.problems == []


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("t(name)", "neither a literal nor a constant made by mark(): name"),
        ("t(f'{name} is gone')", "neither a literal"),
        ("t('a ' + name)", "neither a literal"),
        ("t(HALF['a'])", "neither a literal"),
        ("nt('{n} card', name, 2)", "neither a literal"),
        ("mark(name)", "neither a literal"),
        ("t()", "without its sentence"),
        ("t('{path} is gone', file=1)", "no value for path"),
    ],
)
def test_a_call_whose_sentence_cannot_be_extracted_is_named(tmp_path: Path, call: str, told: str) -> None:
    code = f"from prl_tui.i18n import mark, nt, t\nHALF = {{'a': mark('a'), 'b': 'b'}}\n{call}\n"
    problems = extracted(tmp_path, code).problems
    assert len(problems) == 1
    assert problems[0].startswith("prl_tui/part.py:3: ")
    assert told in problems[0]


# --- what check finds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "translation", "file", "told"),
    [
        ("{path} is gone.", "", "prl_tui/a.py", "no translation"),
        ("{path} is gone.", "{file} 不见了。", "prl_tui/a.py", "placeholders"),
        ("{path} is gone.", "不见了。", "prl_tui/a.py", "placeholders"),
        ("{path} is gone.", "{path} 不见了 {。", "prl_tui/a.py", "placeholders"),
        ("{n} {n} of {m}", "{m} 中的 {n}", "prl_tui/a.py", None),
        ("see `prl-tui runs`.", "见 `prl-tui run`。", "prl_tui/a.py", "commands"),
        ("--set helps", "--sett 有用", "prl_tui/a.py", "options"),
        ("PRL_TUI_LANG decides", "PRL_LANG 决定", "prl_tui/a.py", "variable names"),
        ("\nGo on? ", "继续？", "prl_tui/a.py", "leading line break"),
        ("$n cards", "$n 张", "prl_tui/export/bash.py", None),
        ("$n cards", "$m 张", "prl_tui/export/bash.py", "variables"),
        ("$n cards", "$n张", "prl_tui/export/bash.py", "touches"),
        ("not here: ", '不在"这里"：', "prl_tui/export/bash_rules.py", "shell's quotes"),
        ("not here: ", "不在 `这里`：", "prl_tui/export/bash.py", "shell's quotes"),
    ],
)
def test_a_translation_that_would_break_its_sentence_is_told(
    sentence: str, translation: str, file: str, told: str | None
) -> None:
    said = list(catalogue.mistakes(sentence, translation, [file]))
    assert bool(said) == (told is not None), said
    assert told is None or any(told in line for line in said)


def test_check_tells_missing_obsolete_and_uncompiled() -> None:
    found = catalogue.Sentences({"here": ["prl_tui/a.py"]})
    book = catalogue.Book([], {"gone": "没了"})
    said = catalogue.problems(found, book, b"")
    assert [line.partition(":")[0] for line in said] == [
        "prl_tui/a.py", "prl_tui.po", "prl_tui.mo is not prl_tui.po compiled",
    ]  # fmt: skip
    good = catalogue.Book([], {"here": "在"})
    assert catalogue.problems(found, good, catalogue.mo_bytes(good.translations)) == []


def test_po_keeps_its_comment_block_and_every_kind_of_sentence(tmp_path: Path) -> None:
    path = tmp_path / "some.po"
    pairs = {"\nline: ": "\n行：", 'say "it"\t\\': '说"它"\t\\', "long " * 60: "长" * 200, "new": ""}
    path.write_text(catalogue.po_text(["# 用词", "#"], {key: ["a.py", "b.py"] for key in pairs}, pairs), "utf-8")
    book = catalogue.read_po(path)
    assert book.head == ["# 用词", "#"]
    assert book.translations == pairs


# --- the language that a person sees ------------------------------------------------------------------------------


@pytest.mark.usefixtures("chinese")
def test_chinese_sentences_are_filled_in_and_a_missing_one_stays_english() -> None:
    assert i18n.t("{path} does not exist.", path="/a") == "/a 不存在。"
    assert i18n.t("a sentence that nobody has written, {n}", n=3) == "a sentence that nobody has written, 3"


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("n", [0, 1, 2])
def test_chinese_has_one_form_for_every_count(n: int) -> None:
    assert i18n.nt("{n} error", "{n} errors", n) == f"{n} 个错误"


def test_english_has_two_forms() -> None:
    assert [i18n.nt("{n} error", "{n} errors", n) for n in (0, 1, 2)] == ["0 errors", "1 error", "2 errors"]


def test_a_language_without_its_file_falls_back_to_english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(i18n, "LOCALE_DIR", tmp_path)
    i18n.set_language("zh")
    assert i18n.t("no errors") == "no errors"
    assert str(Text(en="steps", zh="步")) == "步"


@pytest.mark.parametrize(
    ("wanted", "environment", "code"),
    [
        (None, {}, "en"),
        (None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        (None, {"LANG": "zh_TW.UTF-8"}, "zh"),
        (None, {"LANG": "zh"}, "zh"),
        (None, {"LANG": "en_US.UTF-8"}, "en"),
        (None, {"LANG": "C"}, "en"),
        (None, {"LANG": "za_CN.UTF-8"}, "en"),
        (None, {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        (None, {"LANG": "C", "LC_ALL": "zh_CN.GB18030"}, "zh"),
        (None, {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        (None, {"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        (None, {"LANG": "en_US.UTF-8", "PRL_TUI_LANG": "zh"}, "zh"),
        (None, {"LANG": "zh_CN.UTF-8", "PRL_TUI_LANG": "en"}, "en"),
        (None, {"LANG": "en_US.UTF-8", "PRL_TUI_LANG": "zh-TW"}, "zh"),
        ("zh", {"LANG": "en_US.UTF-8", "PRL_TUI_LANG": "en"}, "zh"),
        ("ZH-cn", {}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8", "PRL_TUI_LANG": "zh"}, "en"),
        ("fr", {"LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_language_comes_from_the_option_then_the_variable_then_the_locale(
    wanted: str | None, environment: dict[str, str], code: str
) -> None:
    assert i18n.choose_language(wanted, environment) == code


@pytest.mark.parametrize(
    ("words", "environment"),
    [(["--lang", "zh"], {}), (["--lang=zh"], {}), ([], {"PRL_TUI_LANG": "zh"}), ([], {"LANG": "zh_CN.UTF-8"})],
)
def test_the_command_line_speaks_chinese(words: list[str], environment: dict[str, str]) -> None:
    foreign = {"LANG", "LC_ALL", "LC_MESSAGES", "PRL_TUI_LANG"}
    clean = {key: value for key, value in os.environ.items() if key not in foreign}
    done = subprocess.run(
        [sys.executable, "-c", "from prl_tui.cli import entry; entry()", *words, "check", "prl-grpo/no-such"],
        env={**clean, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 2
    assert "没有名为 no-such 的预设" in done.stderr


# --- data files ---------------------------------------------------------------------------------------------------


def texts(value: object, place: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Every {en, zh} table below a value."""
    if isinstance(value, dict):
        if "en" in value:
            yield place, value
        for key, below in value.items():
            yield from texts(below, f"{place}.{key}")
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from texts(below, f"{place}[{number}]")


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_text_of_a_recipe_has_both_languages(path: Path) -> None:
    found = list(texts(tomllib.loads(path.read_text("utf-8"))))
    assert found
    assert [place for place, text in found if not (text["en"].strip() and text.get("zh", "").strip())] == []
    assert [text["zh"] for _, text in found if re.search(r"[\u4e00-\u9fff][,;:?!]", text["zh"])] == []


@pytest.mark.usefixtures("chinese")
def test_a_text_is_shown_in_the_language_in_force() -> None:
    text = Text(en="steps", zh="步")
    assert str(text) == "步"
    i18n.set_language("en")
    assert str(text) == "steps"


# --- where Chinese must fit ---------------------------------------------------------------------------------------


def test_chinese_sentences_use_full_width_punctuation_and_a_thin_space() -> None:
    wrong = []
    for sentence, translation in catalogue.read_po().translations.items():
        bare = re.sub(r"\{\w*\}", "x", translation)
        if re.search(r"[\u4e00-\u9fff][,;:?!.]|[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", bare):
            wrong.append((sentence, translation))
    # a value that is itself Chinese stands without a space
    values = {"{age}", "{rest}", "{problem}", "{saves}"}
    assert [pair for pair in wrong if not any(value in pair[1] for value in values)] == []


@pytest.mark.usefixtures("chinese")
def test_help_keeps_its_columns_by_cells() -> None:
    from prl_tui.tui.help import configure_help, runs_help, watch_help

    for text, keys in (
        (configure_help("a field   with blanks"), {"tab", "enter", "esc", "x", "/", "l", "L", "d", "w", "s"}),
        (watch_help(), {"z", "end", "n N", "R"}),
        (runs_help(), {"x", "c"}),
    ):
        found = set()
        for line in text.splitlines():
            column = re.search(r"(?<=\S) {2,}(?P<key>n N|\S+)  \S", line)
            if column and column["key"] in keys:
                found.add(cell_len(line[: column.start("key")]))
            assert cell_len(line) <= 78, line
        assert len(found) == 1
    assert configure_help("a field   with blanks").startswith("a field   with blanks\n\n")


@pytest.mark.slow
def test_keys_in_the_footers_are_short() -> None:
    code = """
from prl_tui import i18n
i18n.set_language("zh")
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.screens.watch import WatchScreen
for screen in (ConfigureScreen, RunsScreen, WatchScreen):
    print(" ".join(binding.description for binding in screen.BINDINGS if binding.show and binding.description))
"""
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert "帮助" in line
        assert max(cell_len(word) for word in line.split()) <= 8


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("recipe", ["prl-grpo", "demo"])
def test_an_exported_script_with_chinese_sentences_parses_and_refuses_in_chinese(tmp_path: Path, recipe: str) -> None:
    found = RECIPES[recipe]
    script = tmp_path / "job.sh"
    script.write_text(bash.export(plan.build(resolve(found, found.data.default_preset))).text, "utf-8")
    for locale in ("C", "C.UTF-8"):
        done = subprocess.run(
            ["bash", script],
            env={"PATH": os.environ["PATH"], "LC_ALL": locale, "PRL_PER_DEVICE_TRAIN_BATCH_SIZE": "2abc"},
            capture_output=True,
            timeout=20,
        )
        assert done.returncode == 1
        assert "PRL_PER_DEVICE_TRAIN_BATCH_SIZE 须为 1 到 4096 之间的整数，实际为：2abc" in done.stderr.decode("utf-8")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"n": 1, "m": 2}, "1 process needs 2 GPUs"),
        ({"n": 2, "m": 1}, "2 processes need 1 GPU"),
        ({"n": "1", "m": "1,024"}, "1 process needs 1,024 GPUs"),
        ({"n": 0, "m": 1.0}, "0 processes need 1.0 GPUs"),
    ],
)
def test_words_follow_the_numbers_beside_them(values, said):
    assert i18n.t("{n} {n:process needs|processes need} {m} {m:GPU|GPUs}", **values) == said


def test_a_word_by_a_number_needs_its_value_and_no_translation(tmp_path):
    sentence = "{n} {n:step|steps}"
    assert list(catalogue.mistakes(sentence, "{n} 步", ["a.py"])) == []
    assert list(catalogue.mistakes(sentence, "步", ["a.py"]))
    found = extracted(tmp_path, "from prl_tui.i18n import t\nt('{m} {n:step|steps}', m=1)\n")
    assert "no value for n" in " ".join(found.problems)


NEVER_ONE = ("generations.", "hours", "days", "weeks", "bytes, which", "characters that", "exchange no gradients", "clipboard",
             "may be any of", "and one is needed", "generation workers on", "leaves 0 samples", "contains bytes",
             "rounded down to")  # fmt: skip
"""What is never 1 where its sentence is said: 1 divides every batch, lengths of time have a point, one process is alone."""


def test_every_sentence_is_right_for_one():
    """`1 processes need 1 GPUs` was said once: behind a number no noun stands in the plural, unless `nt` chooses it."""
    by_nt = {
        node.value
        for path in catalogue.PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "nt"
        for node in call.args[:2]
        if isinstance(node, ast.Constant)
    }
    for sentence in set(catalogue.extract(catalogue.PACKAGE).files) - by_nt:
        told = re.sub(r"\{\w+:([^|{}]*)\|[^{}]*\}", r"\1", sentence)
        found = re.findall(rf"(?:\{{\w+\}}|\$\w+) (?:[a-z]+ )?(?:{NOUNS})\b.*", told)
        assert not [one for one in found if not any(word in sentence for word in NEVER_ONE)], sentence


NOUNS = (
    "processes|GPUs|steps|rows|samples|completions|prompts|minutes|hours|days|weeks|lines|matches|workers|files|runs|nodes"
    "|answers|batches|bytes|characters|processors|errors|warnings|checkpoints|evaluations"
)


MISREAD = {
    r"\bso many\b(?! as)": "this many, that many",
    r"\bagainst what\b": "contrary to what",
    r"\bstopped to (?!show)": "stopped writing: to write is what for",
    r"\bstays open\b": "cannot be said",
    r"\bhides its field\b": "overrides its field",
    r"\bcome before the lines\b": "override the lines",
    r"\b(?:multiple|arithmetic|file) alone\b(?=[.:])": "only: a multiple alone is a lone one",
    r"\b(?:first one|Python|machine) alone\b(?=[.,:;])": "only",
    r"\bgraver\b": "more severe",
    r"\bno rule for\b": "it is not a rule",
    r"'s own runs\b": "own image is used: own runs reads as a noun",
    r"^By c10d\b": "With c10d",
}
"""Word order and words of another language in English, which a reader takes for something else → what is meant."""


def test_no_english_sentence_is_read_as_something_else() -> None:
    told = [sentence for sentence in catalogue.read_po().translations if sentence]
    recipes = sorted((catalogue.ROOT / "presets").glob("*.toml"))
    told += [
        text for path in recipes for text in re.findall(r'en = "((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8"))
    ]
    assert len(told) > 1500
    assert [(wrong, text) for text in told for wrong in MISREAD if re.search(wrong, text)] == []
