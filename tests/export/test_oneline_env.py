"""The one-line command and the env file. Judges: bash 5.2 and dash 0.5.12 run them, a recording launcher has the argv."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS
from prl_tui.export.losses import inherited
from tests.built_in import RECIPES
from tests.export.scripts import Bench, recipe, text_field
from tests.export.test_bash_quoting import VALUE

SHELLS = ["bash", "dash"]
TEXTS = recipe(
    text_field("a"), text_field("items", "list"), text_field("e", env="E_NAME"), text_field("free", "variables")
)


def line_of(config: RunConfig) -> str:
    return FORMATS["oneline"](plan.build(config)).text


def pasted(bench: Bench, line: str, shell: str, cwd: Path, **env: str) -> object:
    """The line as a platform's box gives it to a shell: by -c, in an environment of nothing but PATH."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    bench.file.write_text(f'exec {shell} -c "$LINE"\n')
    return bench.run_file(bench.file, cwd, LINE=line, **env)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("oneline"))


@pytest.mark.parametrize("shell", SHELLS)
@given(a=VALUE, item=VALUE, e=VALUE)
@settings(max_examples=25)
def test_any_text_arrives_byte_for_byte_and_runs_nothing(shared: Bench, shell: str, a: str, item: str, e: str) -> None:
    config = resolve(TEXTS).with_values({"a": a, "items": [item, a], "e": e}, Source.SET)
    line = line_of(config)
    assert line.count("\n") == 1
    assert not any(ord(char) < 32 or ord(char) == 127 for char in line[:-1])
    outcome = pasted(shared, line, shell, shared.bin)
    assert outcome.err == ""
    assert outcome.argv == list(plan.build(config).argv)
    assert outcome.env["E_NAME"] == config.value("e")
    assert not (shared.bin / "canary").exists()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("change", "told"),
    [({"workdir": "/no/such place"}, "/no/such place"), ({"training_env": "/no/venv"}, "/no/venv/bin/activate"),
     ({"training_env": "/no/bin/python3"}, "/no/bin/python3"), ({"training_env": "conda:x"}, "conda.sh"),
     ({"environment": ["MY_TOKEN"]}, "MY_TOKEN")],
)  # fmt: skip
def test_what_is_missing_stops_with_one_line(
    bench: Bench, shell: str, change: dict[str, object], told: str, tmp_path: Path
) -> None:
    config = resolve(RECIPES["custom"], "torchrun").with_values(change, Source.SET)
    outcome = pasted(bench, line_of(config), shell, tmp_path)
    assert outcome.argv is None
    assert outcome.code == 1
    [line] = outcome.err.splitlines()
    assert line.startswith("error: ")
    assert told.removesuffix("/bin/activate") in line


def test_the_engines_code_is_the_lines_code(bench: Bench, tmp_path: Path) -> None:
    bench.code = 37
    assert pasted(bench, line_of(resolve(RECIPES["custom"], "torchrun")), "dash", tmp_path).code == 37


def test_a_secret_comes_by_its_name_alone(bench: Bench, tmp_path: Path) -> None:
    config = resolve(RECIPES["custom"], "torchrun").with_values({"environment": ["WANDB_API_KEY"]}, Source.SET)
    assert inherited(plan.build(config)) == ("WANDB_API_KEY",)
    outcome = pasted(bench, line_of(config), "dash", tmp_path, WANDB_API_KEY="abc def")
    assert outcome.env["WANDB_API_KEY"] == "abc def"


@pytest.mark.parametrize("shell", SHELLS)
@given(e=VALUE)
@settings(max_examples=20)
def test_an_env_file_gives_its_variables_unchanged(shared: Bench, shell: str, e: str) -> None:
    config = resolve(TEXTS).with_values({"e": e}, Source.SET)
    file = shared.bin / "run.env"
    file.write_bytes(FORMATS["env"](plan.build(config)).text.encode())
    done = subprocess.run([shell, "-c", ". ./run.env && env -0"], capture_output=True, cwd=shared.bin, timeout=30,
                          env={"PATH": os.defpath})  # fmt: skip
    assert done.stderr == b""
    assert f"E_NAME={config.value('e')}".encode() in done.stdout.split(b"\0")
    assert not (shared.bin / "canary").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_an_env_file_demands_what_it_must_not_hold(bench: Bench, shell: str) -> None:
    config = resolve(TEXTS).with_values({"free": ["MY_TOKEN"], "e": "x"}, Source.SET)
    bench.file.write_text(FORMATS["env"](plan.build(config)).text)
    words = [shell, "-c", f". {bench.file} && echo went on"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, env={"PATH": os.defpath})
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.splitlines() == ["error: this variable is needed and not set: MY_TOKEN"]
