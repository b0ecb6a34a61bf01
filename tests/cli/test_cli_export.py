"""`export`: exact text, files written whole or not at all, and never over something else unasked."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui import atomic
from prl_tui.cli import main, writing
from tests.built_in import CATALOG

BASH = ("export", "prl-grpo/standard-4gpu", "--format", "bash")


def code_and_sentence(result: object) -> tuple[int, str]:
    [line] = result.err.splitlines()  # type: ignore[attr-defined]
    assert "unexpected" not in line
    return result.code, line  # type: ignore[attr-defined]


def test_a_file_has_the_very_text_that_stdout_gets(cli: Callable[..., object], tmp_path: Path) -> None:
    target = tmp_path / "run it.sh"
    assert code_and_sentence(cli(*BASH, "-o", str(target))) == (0, f"wrote {target}")
    assert target.read_text("utf-8") == cli(*BASH).out  # type: ignore[attr-defined]
    assert os.access(target, os.X_OK)
    assert [path.name for path in tmp_path.iterdir()] == ["run it.sh"]


def test_toml_reads_back_as_the_same_config(cli: Callable[..., object], tmp_path: Path) -> None:
    target = tmp_path / "run.toml"
    change = ("--set", "model=/模型/a 'b' \"c\"", "--set", "num_generations=4", "--unset", "system")
    cli("export", "prl-grpo/standard-4gpu", *change, "--format", "toml", "-o", str(target))
    again = cli("export", str(target), "--format", "command")
    assert again.out == cli("export", "prl-grpo/standard-4gpu", *change, "--format", "command").out  # type: ignore[attr-defined]
    assert "--system" not in again.out  # type: ignore[attr-defined]


def test_errors_stop_an_export_unless_it_is_asked_for_all_the_same(cli: Callable[..., object], tmp_path: Path) -> None:
    target = tmp_path / "run.sh"
    wrong = (*BASH, "--set", "num_generations=3", "-o", str(target))
    result = cli(*wrong)
    assert result.code == 1  # type: ignore[attr-defined]
    assert "--allow-errors" in result.err  # type: ignore[attr-defined]
    assert not target.exists()
    assert cli(*wrong, "--allow-errors").code == 0  # type: ignore[attr-defined]
    assert target.exists()


def test_an_existing_file_that_differs_is_kept_without_overwrite(cli: Callable[..., object], tmp_path: Path) -> None:
    target = tmp_path / "run.sh"
    target.write_text("mine\n")
    code, line = code_and_sentence(cli(*BASH, "-o", str(target)))
    assert code == 2
    assert "--overwrite" in line
    assert target.read_text() == "mine\n"
    assert cli(*BASH, "-o", str(target), "--overwrite").code == 0  # type: ignore[attr-defined]
    assert target.read_text("utf-8").startswith("#!/usr/bin/env bash")
    assert cli(*BASH, "-o", str(target)).code == 0  # type: ignore[attr-defined]


def test_a_link_stays_a_link(cli: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "real.sh").write_text("old\n")
    (tmp_path / "link.sh").symlink_to("real.sh")
    assert cli(*BASH, "-o", str(tmp_path / "link.sh"), "--overwrite").code == 0  # type: ignore[attr-defined]
    assert (tmp_path / "link.sh").is_symlink()
    assert (tmp_path / "real.sh").read_text("utf-8").startswith("#!")


def test_a_pipe_is_written_to_and_not_replaced(script: Callable[..., object], tmp_path: Path) -> None:
    assert script(*BASH, "-o", "/dev/stdout").out.startswith("#!/usr/bin/env bash")  # type: ignore[attr-defined]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert script(*BASH, "-o", str(pipe)).code == 0  # type: ignore[attr-defined]
        assert os.read(reader, 20).startswith(b"#!/usr/bin/env bash")
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_that_nobody_reads_is_not_waited_for(script: Callable[..., object], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code, line = code_and_sentence(script(*BASH, "-o", str(pipe), "--overwrite"))
    assert (code, line) == (4, f"prl-tui: {pipe} is a named pipe that nobody reads: start its reader first.")


def test_a_file_that_somebody_else_writes_during_the_question_is_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, shown = tmp_path / "run.sh", []
    target.write_text("old")

    def ask(path: Path, old: str, text: str) -> None:
        shown.append(old)
        if old == "old":
            path.write_text("precious")

    monkeypatch.setattr(writing, "_ask", ask)
    assert writing.write(target, "new", executable=False, overwrite=False) == 0
    assert shown == ["old", "precious"]
    assert target.read_text() == "new"


def test_a_reader_that_is_slow_gets_all_of_it(tmp_path: Path) -> None:
    pipe, text = tmp_path / "pipe", "x" * 300_000  # more than a pipe holds
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(end, True)
    with (tmp_path / "got").open("wb") as got:
        reader = subprocess.Popen(["sh", "-c", "sleep 0.3; cat"], stdin=end, stdout=got)
    assert writing.write(pipe, text, executable=False, overwrite=False) == 0
    os.close(end)
    assert reader.wait(20) == 0
    assert (tmp_path / "got").read_text() == text


@pytest.mark.parametrize("name", [".", "no/such/folder/x.sh", "a" * 300, "file/x.sh"])
def test_a_place_that_cannot_be_written_is_one_sentence(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    code, line = code_and_sentence(cli(*BASH, "-o", name))
    assert code == (2 if name == "." else 4)
    assert line.startswith(f"prl-tui: {name} ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "run.sh"
    target.write_text("mine\n")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(atomic.os, "fsync", full)
    code, line = code_and_sentence(cli(*BASH, "-o", str(target), "--overwrite"))
    assert (code, "No space left on device" in line) == (4, True)
    assert target.read_text() == "mine\n"
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


def test_a_folder_that_is_read_only_is_one_sentence(open_folder: Path, as_nobody: Callable[..., str]) -> None:
    said = as_nobody(lambda: print(main([*BASH, "-o", str(open_folder / "x.sh")])))
    assert sorted(said.splitlines()) == ["4", f"prl-tui: {open_folder}/x.sh cannot be written: Permission denied."]
    assert list(open_folder.iterdir()) == []


def test_an_unknown_format_is_named_with_its_near_miss(cli: Callable[..., object]) -> None:
    code, line = code_and_sentence(cli("export", "demo", "--format", "bahs"))
    assert (code, "bash would work" in line) == (2, True)


def test_an_export_is_utf_8_whatever_the_terminal_knows(script: Callable[..., object]) -> None:
    words = ("export", "demo", "--set", "output_dir=输出", "--format", "bash")
    result = script(*words, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert "v_output_dir='输出'" in result.out  # type: ignore[attr-defined]


def test_without_a_terminal_nothing_asks(script: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("mine\n")
    result = script(*BASH, "-o", str(tmp_path / "run.sh"), input=b"y\n")
    assert result.code == 2  # type: ignore[attr-defined]
    assert (tmp_path / "run.sh").read_text() == "mine\n"


def test_a_script_checks_by_the_stack_that_the_command_named(cli: Callable[..., object]) -> None:
    script = ("export", "swift-grpo", "--format", "bash")
    assert "repeat=" in cli(*script).out  # type: ignore[attr-defined]
    later = [word for key in ("tuner_type", "vllm_mode", "vllm_tensor_parallel_size") for word in ("--unset", key)]
    named = cli(*script, *later, "--stack", "swift-3.3-prl").out  # type: ignore[attr-defined]
    assert "repeat=" not in named  # there accumulation does not count
    assert "swift-3.3-prl" in named


def test_a_stack_for_a_recipe_without_that_field_rules_the_script_and_is_missed_in_toml(
    cli: Callable[..., object],
) -> None:
    """With MiniOneRec's own rule accumulation does not count; with TRL 0.18's it does."""
    values = ["--set", "train_batch_size=2", "--set", "nproc_per_node=2", "--set", "num_generations=8", "--set",
              "gradient_accumulation_steps=2", "--set", "eval_batch_size=8", "--set", "cuda_visible_devices=0,1"]  # fmt: skip
    command = ["export", "minionerec-rl", *values, "--format"]
    assert cli(*command, "bash").code == 1  # type: ignore[attr-defined]
    made = cli(*command, "bash", "--stack", "trl-0.18")
    assert made.code == 0  # type: ignore[attr-defined]
    assert " * repeat" in made.out  # type: ignore[attr-defined]
    told = cli(*command, "toml", "--stack", "trl-0.18")
    assert told.code == 0  # type: ignore[attr-defined]
    assert "--stack trl-0.18 is not in this file" in told.err  # type: ignore[attr-defined]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_exported_script_as_source_says_what_to_give_instead(
    cli: Callable[..., object], tmp_path: Path, lang: str
) -> None:
    import shlex

    path = tmp_path / "run.sh"
    given = ["--set", "num_generations=4", "--set", "model=my model", "--unset", "temperature"]
    made = cli("--lang", lang, "export", "prl-grpo/standard-4gpu", *given, "--format", "bash")
    path.write_text(made.out, "utf-8")  # type: ignore[attr-defined]
    told = cli("check", str(path))
    assert told.code == 2  # type: ignore[attr-defined]
    assert len(told.err.splitlines()) == 1  # type: ignore[attr-defined]
    settings = told.err.partition("its settings are ")[2].partition(", to be given")[0]  # type: ignore[attr-defined]
    words = shlex.split(settings)
    assert words[0] == "prl-grpo/standard-4gpu"
    again = cli("export", *words, "--format", "bash")
    assert (
        again.out.split("# --- values")[1:]
        == cli("export", *words[:1], *given, "--format", "bash").out.split("# --- values")[1:]
    )  # type: ignore[attr-defined]


def test_another_script_as_source_says_what_is_needed(cli: Callable[..., object], tmp_path: Path) -> None:
    path = tmp_path / "train.sh"
    path.write_text("#!/bin/bash\ntorchrun train.py\n")
    told = cli("check", str(path))
    assert (
        told.err == f"prl-tui: {path} is a script, not a run config; a TOML file, RECIPE/PRESET or a run is needed.\n"
    )  # type: ignore[attr-defined]


def test_the_demo_has_one_output_folder_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from prl_tui.cli import demo
    from prl_tui.tui.session import Session

    monkeypatch.chdir(tmp_path)
    in_app = Session.begin(CATALOG, "demo").config
    assert demo.config([]).value("output_dir") == in_app.value("output_dir") == "output"


def test_a_file_that_is_replaced_keeps_its_permissions(cli: Callable[..., object], tmp_path: Path) -> None:
    target = tmp_path / "run.sh"
    target.write_text("old\n")
    target.chmod(0o600)
    assert cli(*BASH, "-o", str(target), "--overwrite").code == 0  # type: ignore[attr-defined]
    assert target.stat().st_mode & 0o777 == 0o600
    target.unlink()
    assert cli(*BASH, "-o", str(target)).code == 0  # type: ignore[attr-defined]
    assert target.stat().st_mode & 0o100


def test_the_longest_name_that_a_file_may_have_is_written(cli: Callable[..., object], tmp_path: Path) -> None:
    target = tmp_path / ("x" * 252 + ".sh")
    assert cli(*BASH, "-o", str(target)).code == 0  # type: ignore[attr-defined]
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [target.name]
