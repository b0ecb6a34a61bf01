"""Outside text on a terminal, and streams that are closed, full or no longer read: judged by bash 5 and /dev/full."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.i18n import visible

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\u202eabc"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PROGRAM = f"{sys.executable} -m prl_tui"


def shell(line: str) -> tuple[int, str, str]:
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


RECIPE = """
schema = 1
name = "mine"
title = {{ en = "{text}" }}
program.torchrun = {{ script = "train.py" }}
[[field]]
key = "note"
type = "str"
group = "data"
label = {{ en = "{text}" }}
default = "{text}"
flag = "--note"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["check", HOSTILE],
        ["check", "prl-grpo", "--set", f"num_generations={HOSTILE}"],
        ["check", "prl-grpo", "--set", f"{HOSTILE}=1"],
        ["check", "prl-grpo", "--set", HOSTILE],
        ["check", "prl-grpo", "--stack", HOSTILE],
        ["check", "prl-grpo", "--rows", HOSTILE],
        ["export", "prl-grpo", "--format", HOSTILE],
        ["export", "prl-grpo", "--set", f"model={HOSTILE}", "--format", "bash", "-o", f"missing/{HOSTILE}"],
        ["presets", HOSTILE],
        ["presets", "mine"],
        ["recipes"],
        ["logs", HOSTILE],
        ["stop", HOSTILE],
        [HOSTILE],
        ["--lang", HOSTILE, "recipes"],
        ["check", "mine.toml"],
        ["check", f"{HOSTILE}.toml"],
    ],
    ids=lambda words: " ".join(words).encode("unicode_escape").decode()[:40],
)
def test_no_outside_text_reaches_a_terminal_raw(
    words: list[str], script: Callable[..., object], config_dir: Path, tmp_path: Path
) -> None:
    escaped = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    folder = config_dir / "recipes"
    folder.mkdir()
    (folder / "mine.toml").write_text(RECIPE.format(text=escaped), "utf-8")
    (folder / f"broken{HOSTILE}.toml").write_text("schema = 1\nname = 3", "utf-8")
    for name in ("mine.toml", f"{HOSTILE}.toml"):
        (tmp_path / name).write_text(f'recipe = "prl-grpo"\n[values]\nseed = "{escaped}"\n"{escaped}" = 1\n', "utf-8")
    result = script(*words, cwd=tmp_path)
    assert CONTROL.findall(result.out + result.err) == []  # type: ignore[attr-defined]
    assert "unexpected fault" not in result.err  # type: ignore[attr-defined]


def test_json_keeps_what_was_given_and_is_safe_to_print(script: Callable[..., object]) -> None:
    result = script("check", "prl-grpo", "--set", f"cuda_visible_devices={HOSTILE}", "--json")
    assert CONTROL.findall(result.out) == []  # type: ignore[attr-defined]
    assert json.loads(result.out)["devices"]["spec"] == HOSTILE  # type: ignore[attr-defined]


def test_a_sentence_stays_one_line_whatever_is_in_it(script: Callable[..., object]) -> None:
    result = script("check", "prl-grpo", "--set", "a\nprl-tui: b=1")
    assert len(result.err.splitlines()) == 1  # type: ignore[attr-defined]
    assert "a\\nprl-tui: b" in result.err  # type: ignore[attr-defined]


def test_ordinary_text_is_shown_as_it_is() -> None:
    for text in ("生成数 4 → 2", "a b\u3000c", "é✓·“x”", "/data/my file.jsonl"):
        assert visible(text) == text


@pytest.mark.parametrize("closed", [">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("check demo", 0), ("check prl-grpo --set num_generations=3", 1), ("", 4)])
def test_a_closed_stream_is_quiet_and_keeps_the_code(closed: str, words: str, code: int) -> None:
    got, _, err = shell(f"{PROGRAM} {words} {closed}")
    assert got == code
    assert "Traceback" not in err
    assert "unexpected fault" not in err


@pytest.mark.parametrize("more", ["", "--json", "-o -", "--format toml"])
def test_an_export_to_a_closed_stream_is_lost(more: str, tmp_path: Path) -> None:
    lost = "prl-tui: the output cannot be written: standard output is closed.\n"
    assert shell(f"{PROGRAM} export demo --format bash {more} >&-") == (4, "", lost)
    assert shell(f"{PROGRAM} export demo --format bash -o {tmp_path}/x.sh >&-")[0] == 0


def test_with_a_closed_stderr_nothing_of_it_goes_to_stdout() -> None:
    assert shell(f"{PROGRAM} check nothing 2>&-")[:2] == (2, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words",
    ["check demo", "check demo --json", "export demo --format bash", "recipes", "--help", "--version", "runs --json"],
)
def test_a_full_disk_is_one_sentence_and_exit_4(words: str) -> None:
    code, _, err = shell(f"{PROGRAM} {words} >/dev/full")
    assert (code, err) == (4, "prl-tui: the output cannot be written: No space left on device.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_narration_that_cannot_be_written_changes_nothing() -> None:
    assert shell(f"{PROGRAM} check nothing 2>/dev/full")[0] == 2
    assert shell(f"{PROGRAM} export demo --format bash 2>/dev/full | tail -1")[:2] == (0, 'exec "${command[@]}"\n')


@pytest.mark.parametrize(
    "words", ["recipes", "presets prl-grpo --json", "export prl-grpo --format bash", "check prl-grpo"]
)
def test_a_reader_that_is_gone_ends_a_command_by_sigpipe(words: str) -> None:
    """As `ls | true` with pipefail: 141, or 0 where everything was written before the reader left."""
    code, _, err = shell(f"{PROGRAM} {words} | true")
    assert (code, err) in {(141, ""), (0, "")}
    code, _, err = shell(f"{{ sleep 0.3; {PROGRAM} {words}; }} | true")
    assert (code, err) == (141, "")
