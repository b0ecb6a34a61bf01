"""Windows batch files. Judges: a double of cmd's documented phases (cmd_reader.py), and Wine 8.0's cmd with a program
whose arguments Wine's C runtime splits. Neither is Windows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export import cmd
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export import cmd_reader, wine
from tests.export.scripts import recipe, text_field
from tests.export.test_exact_values import FEW, MANY, Carried, batches, in_fields, in_words, texts
from tests.export.test_presets_exported import PRESETS

CUSTOM = resolve(RECIPES["custom"], "torchrun")
BAT = FORMATS["bat"]


def bat(config: RunConfig) -> str:
    made = plan.build(config)
    assert BAT.refused(made) == ""
    return BAT(made).text


def with_(**changes: object) -> RunConfig:
    return CUSTOM.with_values(changes, Source.SET)


def carriable(count: int) -> list[str]:
    return [text for text in texts(count) if not cmd.uncarried(text)][:count]


def few_words(items: list[str]) -> Iterator[Carried]:
    """Plans of lines that are short enough."""
    for batch in batches(items):
        for at in range(0, len(batch), 25):
            yield in_words(batch[at : at + 25])
            yield in_fields(batch[at : at + 25])


def reads_as_planned(items: list[str]) -> None:
    for one in few_words(items):
        seen = cmd_reader.read(bat(one.config))
        assert seen.argv == one.argv
        assert {name: seen.env.get(name) for name in one.env} == one.env
    print(f"bat: {len(items)} texts arrived, each 4 times")


@pytest.mark.slow
def test_hundreds_of_texts_arrive_unchanged() -> None:
    reads_as_planned(carriable(FEW))


@pytest.mark.slow
def test_two_thousand_texts_arrive_unchanged() -> None:
    """By the reader of this folder, which Wine's cmd agrees with; the ten thousand are for what a shell executes."""
    found = carriable(MANY * 8 // 25)
    assert len(found) >= MANY // 5
    reads_as_planned(found[: MANY // 5])


@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_every_preset_runs_its_plan(one: object, name: str) -> None:
    made = plan.build(resolve(one, name))  # type: ignore[arg-type]
    seen = cmd_reader.read(bat(made.config))
    assert seen.argv == list(made.argv)
    assert dict(made.env).items() <= seen.env.items()
    for file in made.files:
        assert seen.files[f"prl-files\\{file.name}"].replace("\r\n", "\n") == file.text("prl-files")


@pytest.mark.parametrize("key", ["script", "arguments", "environment", "workdir", "training_env"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\nb", "a line break"),
        ("a\rb", "a line break"),
        ("a\x1ab", "U+001A"),
        ("\x7f", "U+007F"),
        ("\x1b[2J", "U+001B"),
    ],
)
def test_what_no_line_can_carry_is_refused_with_its_field(key: str, text: str, told: str) -> None:
    given = f"V={text}" if key == "environment" else [text] if key == "arguments" else text
    refused = BAT.refused(plan.build(with_(**{key: [given] if key == "environment" else given})))
    assert refused.startswith(f"{key} cannot stand in a batch file: ")
    assert told in refused


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"arguments": ["x" * 8190]}, "arguments makes a line longer than the 8191 characters that cmd takes."),
        ({"environment": ["V=" + "%" * 4100]}, "environment makes a line longer than the 8191 characters that cmd takes."),
        ({"environment": ["a=1", "A=2"]}, "a and A are the same variable on Windows."),
        ({"workdir": 'a"b'}, 'workdir cannot stand in a batch file: it has ".'),
        ({"training_env": "conda:a%b"}, "training_env cannot stand in a batch file: it has %."),
    ],
)  # fmt: skip
def test_what_windows_has_no_place_for_is_refused(changes: dict[str, object], told: str) -> None:
    made = plan.build(with_(**changes))
    assert BAT.refused(made) == told


def test_a_command_that_just_fits_is_written() -> None:
    room = 8191 - len('torchrun "--nproc_per_node=2" --standalone train.py ')
    assert len(max(bat(with_(arguments=["x" * room])).split("\r\n"), key=len)) == 8191


def test_it_is_bytes_that_windows_reads() -> None:
    text = bat(with_(script="训练.py"))
    assert text.count("\n") == text.count("\r\n")
    assert not text.startswith("\ufeff")
    assert text.splitlines()[:3] == [
        "@echo off", "chcp 65001 >nul", "setlocal EnableExtensions DisableDelayedExpansion"
    ]  # fmt: skip
    assert text.splitlines()[-1] == "exit /b %ERRORLEVEL%"


def test_what_differs_on_windows_is_told() -> None:
    lost = BAT(plan.build(with_(script="/data/train.py", environment=["EMPTY="]))).losses
    assert any("NCCL" in loss for loss in lost)
    assert any("EMPTY is empty" in loss for loss in lost)
    assert any(loss.endswith(": script") for loss in lost)


def test_the_same_file_again_is_no_other_one(cli: Callable[..., object], tmp_path: Path) -> None:
    words = ("export", "custom/torchrun", "--format", "bat", "-o", str(tmp_path / "x.bat"))
    assert [cli(*words).code, cli(*words).code] == [0, 0]  # type: ignore[attr-defined]
    assert (tmp_path / "x.bat").read_bytes().count(b"\r\n") == bat(CUSTOM).count("\n")


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wine.Wine]:
    if reason := wine.missing():
        pytest.skip(reason)
    made = wine.Wine(tmp_path_factory.mktemp("wine"))
    yield made
    made.stop()


@pytest.mark.slow
def test_wine_gives_the_program_every_text_unchanged(windows: wine.Wine) -> None:
    for one in few_words(carriable(FEW)):
        code, argv, env, told = windows.run(bat(one.config))
        assert (code, told) == (37, "")
        assert argv == one.argv[1:]
        assert {name: env.get(name) for name in one.env} == one.env


@pytest.mark.slow
def test_wine_writes_the_files_of_a_plan(windows: wine.Wine) -> None:
    nasty = '/data/it\'s: "x" %PATH% & | ^ ! ) > canary \\ 100%'
    made = plan.build(
        resolve(RECIPES["reward-model"]).with_values(
            {"config_source": "generate", "base_model_path": nasty}, Source.SET
        )
    )
    code, argv, _, told = windows.run(bat(made.config))
    assert (code, told) == (37, "")
    assert argv == list(made.argv)[1:]
    [file] = made.files
    written = (windows.place / "prl-files" / file.name).read_bytes().decode()
    assert written == file.text("prl-files").replace("\n", "\r\n")
    assert yaml.safe_load(written)["base_model_path"] == nasty
    assert not (windows.place / "canary").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"workdir": "no such & place"}, "the working directory cannot be entered: no such & place"),
        ({"training_env": "no (x) env"}, "there is no virtual environment here: no (x) env"),
        ({"training_env": "conda:no env"}, "this conda environment could not be activated: no env"),
        ({"environment": ["MY_TOKEN"]}, "this variable is needed and not set: MY_TOKEN"),
    ],
)
def test_wine_stops_with_one_line_where_something_is_missing(
    windows: wine.Wine, changes: dict[str, object], told: str
) -> None:
    code, argv, _, said = windows.run(bat(with_(**changes)))
    assert (code, argv) == (1, None)
    assert f"error: {told}" in said


@pytest.mark.slow
def test_wine_enters_the_folder_and_the_venv(windows: wine.Wine) -> None:
    work = windows.place / "work & (x)"
    (work / "my env/Scripts").mkdir(parents=True)
    activate = work / "my env/Scripts/activate.bat"
    activate.write_bytes(b'@echo off\r\nset "VIRTUAL_ENV=%~dp0.."\r\nset "PATH=%~dp0;%PATH%"\r\n')
    shutil.copy(windows.place / "torchrun.exe", work / "my env/Scripts")
    code, _, _, told = windows.run(bat(with_(workdir="work & (x)", training_env="my env", environment=["V=1"])))
    assert (code, told) == (37, "")
    assert b"V=1" in (work / "environ").read_bytes().split(b"\0")
    activate.write_bytes(b'@set "VIRTUAL_ENV=C:\\gone"\r\n')
    code, _, _, told = windows.run(bat(with_(workdir="work & (x)", training_env="my env")))
    assert code == 1
    assert "made for another place" in told


def test_a_recipe_of_texts_alone_is_carried_too() -> None:
    one = resolve(recipe(text_field("a"))).with_values({"a": 'a "b" %c% ^d &'}, Source.SET)
    assert cmd_reader.read(bat(one)).argv == ["python", "train.py", "--a", 'a "b" %c% ^d &']


def test_a_tilde_is_the_home() -> None:
    assert cmd.path("~/a b") == '"%USERPROFILE%\\a b"'
