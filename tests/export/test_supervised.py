"""A script that the platform's own prl-tui runs. Judges: the installed prl-tui and torchrun 2.13 with two gloo ranks, on a
machine of another name (`unshare --uts`) and with another home; bash 5.2; shellcheck 0.11.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui import __version__
from prl_tui.core import plan, seal
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export import supervised
from tests.built_in import RECIPES
from tests.conftest import installed_script
from tests.export.scripts import Bench
from tests.export.test_bash_script import PRESETS, refused, shellcheck
from tests.export.test_slurm import NASTY

BIN = str(Path(sys.executable).parent)


def text_of(config: RunConfig) -> str:
    return supervised.FORMAT(plan.build(config)).text


def on_the_platform(tmp_path: Path, text: str, **env: str) -> subprocess.Popen[str]:
    """The script on another machine: another host name where that can be had, another home, nothing of this shell."""
    installed_script()
    home, work = tmp_path / "other home", tmp_path / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    file = work / "job.sh"
    file.write_text(text, "utf-8")
    elsewhere = ["unshare", "--uts", "sh", "-c", 'hostname node7 && exec "$@"', "sh"] if can_unshare() else []
    whole = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8",
             "PRL_TUI_JOB_STATE": str(tmp_path / "shared/state 中"), "GLOO_SOCKET_IFNAME": "lo", **env}  # fmt: skip
    return subprocess.Popen([*elsewhere, "bash", str(file)], cwd=work, env=whole, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def can_unshare() -> bool:
    words = ["unshare", "--uts", "sh", "-c", "hostname node7"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0


def here(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """prl-tui on this machine, which has the same storage under another name."""
    mount = tmp_path / "mount"
    if not mount.exists():
        mount.symlink_to(tmp_path / "shared")
    env = {**os.environ, "XDG_STATE_HOME": str(mount / "state 中")}
    return subprocess.run([*installed_script(), *words], capture_output=True, text=True, timeout=120, env=env)


def the_run(tmp_path: Path, wanted: Callable[[dict[str, object]], bool]) -> dict[str, object]:
    deadline = time.monotonic() + 90
    found: list[dict[str, object]] = []
    while time.monotonic() < deadline:
        said = here(tmp_path, "runs", "--json").stdout
        found = json.loads(said) if said else []
        if found and wanted(found[0]):
            return found[0]
        time.sleep(0.2)
    raise AssertionError(f"no such run: {found}")


@pytest.mark.slow
@pytest.mark.torch
def test_a_real_run_on_another_machine_is_watched_from_here(tmp_path: Path) -> None:
    config = resolve(RECIPES["demo"]).with_values({"max_steps": 60, "save_steps": 30}, Source.SET)
    job = on_the_platform(tmp_path, text_of(config))
    try:
        alive = "elsewhere" if can_unshare() else "running"
        run = the_run(tmp_path, lambda one: one["state"] in {alive, "finished"})
        assert run["state"] == alive
        assert run["host"] == ("node7" if can_unshare() else run["host"])
        watched = here(tmp_path, "watch", "last", "--plain")
        out, err = job.communicate(timeout=120)
    finally:
        job.kill()
    assert job.returncode == 0, err
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "60" in watched.stdout
    ended = the_run(tmp_path, lambda one: one["state"] == "finished")
    assert (ended["exit_code"], ended["recipe"]) == (0, "demo")
    assert (tmp_path / "work/output").is_dir(), out
    assert here(tmp_path, "logs", "last", "--rank", "1").returncode == 0


@pytest.mark.slow
def test_the_engines_code_and_every_value_come_through(tmp_path: Path) -> None:
    engine = tmp_path / "train 中文.py"
    engine.write_text(
        "import json, os, sys\n"
        "json.dump([sys.argv[1:], os.environ['NOTE'], os.environ['MY_TOKEN']], open('seen.json', 'w'))\n"
        "sys.exit(7)\n"
    )
    changes = {"script": str(engine), "arguments": ["--path", NASTY, ""], "environment": [f"NOTE={NASTY}", "MY_TOKEN"]}
    config = resolve(RECIPES["custom"], "python").with_values(changes, Source.SET)
    job = on_the_platform(tmp_path, text_of(config), MY_TOKEN="from the job")
    _, err = job.communicate(timeout=120)
    assert job.returncode == 7, err
    assert json.loads((tmp_path / "work/seen.json").read_text()) == [["--path", NASTY, ""], NASTY, "from the job"]
    run = the_run(tmp_path, lambda one: one["state"] == "failed")
    assert run["exit_code"] == 7
    assert here(tmp_path, "watch", "last", "--plain").returncode == 7


@pytest.mark.slow
def test_a_variable_overrides_and_a_wrong_one_stops_it(tmp_path: Path) -> None:
    job = on_the_platform(tmp_path, text_of(resolve(RECIPES["demo"])), PRL_PER_DEVICE_TRAIN_BATCH_SIZE="3")
    _, err = job.communicate(timeout=120)
    assert job.returncode == 1
    assert "16" in err


def fake(bench: Bench, said: str) -> None:
    (bench.bin / "prl-tui").write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && {said}\ncat "/proc/$$/cmdline" >"${{0%/*}}/argv"\n'
    )
    (bench.bin / "prl-tui").chmod(0o755)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, "prl-tui is not installed here; the bash format runs without it."),
        ("exit 1", "prl-tui is not installed here; the bash format runs without it."),
        ("echo prl-tui 0.0.9 && exit", f"this script needs prl-tui {__version__} or later; here is 0.0.9"),
        ("echo prl-tui 0.0 && exit", f"this script needs prl-tui {__version__} or later; here is 0.0"),
    ],
)
def test_without_the_right_prl_tui_it_stops_with_one_line(
    said: str | None, told: str, bench: Bench, tmp_path: Path
) -> None:
    if said:
        fake(bench, said)
    outcome = bench.run(text_of(resolve(RECIPES["demo"])), tmp_path)
    refused(outcome, told)
    assert list(tmp_path.iterdir()) == [tmp_path / "bench"]


@pytest.mark.parametrize("version", [__version__, "0.1.10", "0.10.0", "1.0rc1", "08.0.0"])
def test_the_same_and_a_later_version_will_do(version: str, bench: Bench, tmp_path: Path) -> None:
    fake(bench, f"echo prl-tui {version} && exit")
    outcome = bench.run(text_of(resolve(RECIPES["demo"])), tmp_path)
    assert outcome.code == 0
    assert (outcome.argv or [])[1:] == [
        "launch", str(next((tmp_path / "prl-tui-state/configs").iterdir())), "--foreground", "--use-env"
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_shellcheck_finds_nothing_and_the_config_inside_reads_back(
    one: object, name: str, bench: Bench, tmp_path: Path, cli: Callable[..., object]
) -> None:
    config = resolve(one, name)  # type: ignore[arg-type]
    text = text_of(config)
    done = subprocess.run([shellcheck(), "-"], input=text, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
    assert done.stdout == ""
    assert seal.edited(text) is False
    fake(bench, f"echo prl-tui {__version__} && exit")
    assert bench.run(text, tmp_path).code == 0
    [file] = (tmp_path / "prl-tui-state/configs").iterdir()
    read = json.loads(cli("export", str(file), "--format", "command", "--json", "--allow-errors").out)  # type: ignore[attr-defined]
    assert read["text"].endswith(" \\\n".join(plan.build(config).command_lines()) + "\n")


def test_only_bash_has_it(cli: Callable[..., object]) -> None:
    said = cli("export", "demo", "--format", "slurm", "--supervised")
    assert said.code == 2  # type: ignore[attr-defined]
    assert "only the format bash has it, not slurm" in said.err  # type: ignore[attr-defined]
    assert "exec prl-tui launch" in cli("export", "demo", "--format", "bash", "--supervised").out  # type: ignore[attr-defined]
