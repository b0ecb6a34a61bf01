"""A pipe, a socket or a device where a file belongs: named at once, never waited for."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prl_tui import regular
from prl_tui.machine import conda, paths, rows


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """Whoever opens a pipe and waits fails, rather than that the tests stand still."""

    def late(*_: object) -> None:
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_socket(path: Path) -> None:
    """A socket's name in the file system."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


SPECIAL = [
    (os.mkfifo, "it is a named pipe, and a file is needed"),
    (make_socket, "it is a socket, and a file is needed"),
]


@pytest.mark.parametrize(("make", "words"), SPECIAL)
@pytest.mark.parametrize(
    "words_before", [("check",), ("launch", "--dry-run"), ("export", "--format", "bash")], ids=lambda words: words[0]
)
def test_a_source_that_is_no_file_is_one_sentence(
    cli: Callable[..., object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    words: str,
    words_before: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    make(Path("f.toml"))
    command, *options = words_before
    result = cli(command, "f.toml", *options)
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    assert result.err == f"prl-tui: f.toml cannot be read: {words}.\n"  # type: ignore[attr-defined]


def test_in_the_folders_of_recipes_and_presets_it_is_named_and_skipped(cli: Callable[..., object]) -> None:
    for folder in paths.own_recipe_dirs():
        folder.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / "pipe.toml")
    for command in (("check", "demo/two-ranks"), ("recipes",), ("launch", "demo/two-ranks", "--dry-run")):
        result = cli(*command)
        assert result.code == 0, command  # type: ignore[attr-defined]
        told = [line for line in result.err.splitlines() if line.startswith("skipped: ")]  # type: ignore[attr-defined]
        assert len(told) == 2
        assert all("pipe.toml cannot be read: it is a named pipe" in line for line in told)


def test_a_config_file_that_is_a_pipe_is_a_finding(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("mine.yaml")
    result = cli("check", "vlm-sft", "--set", "config=mine.yaml")
    assert result.code == 1  # type: ignore[attr-defined]
    assert "mine.yaml cannot be read: it is a named pipe" in result.out  # type: ignore[attr-defined]


@pytest.mark.parametrize(("make", "words"), SPECIAL)
@pytest.mark.parametrize(
    ("source", "field"),
    [("swift-sft/lora-1gpu", "dataset"), ("swift-grpo", "model"), ("prl-grpo/standard-4gpu", "dataset")],
)
def test_data_that_are_a_pipe_are_an_error_here(
    cli: Callable[..., object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    words: str,
    source: str,
    field: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("d.jsonl"))
    result = cli("check", source, "--here", "--json", "--set", f"{field}=d.jsonl")
    found = [one for one in json.loads(result.out)["findings"] if one["code"] == "file-odd"]  # type: ignore[attr-defined]
    assert [(one["field"], one["severity"], one["message"]) for one in found] == [
        (field, "error", f"d.jsonl: {words}.")
    ]


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
def test_data_that_are_a_pipe_are_not_counted(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert rows.count(tmp_path / name) is None


def test_condas_list_of_environments_may_be_a_pipe(tmp_path: Path) -> None:
    (tmp_path / ".conda").mkdir()
    os.mkfifo(tmp_path / ".conda" / "environments.txt")
    assert conda.find("missing", "", {"HOME": str(tmp_path), "PATH": ""}) is None


def test_only_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    assert regular.read_bytes(tmp_path / "a") == b"text"
    assert regular.read_bytes(tmp_path / "a", 2) == b"te"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path / "link", Path("/dev/zero"), Path("/dev/tty")):
        with pytest.raises(regular.NotAFileError):
            regular.opened(path)
    with pytest.raises(IsADirectoryError):
        regular.opened(tmp_path)
    with pytest.raises(FileNotFoundError):
        regular.opened(tmp_path / "missing")
