"""A secret that is typed where it has no place comes back in no sentence: every option and every word of every sub-command."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from pathlib import Path

import pytest

from prl_tui.cli import main, parser, streams
from prl_tui.machine import crash, paths

LOOK = "hf_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcD"
"""A token of Hugging Face's form: 34 letters and digits."""
URL = "https://bob:hunter2@h"
SECRETS = (LOOK, "hunter2")
SOURCE = {"check": ["prl-grpo"], "export": ["prl-grpo", "--format", "bash"], "launch": ["prl-grpo", "--dry-run", "--no-probe"]}  # fmt: skip
WORDS = {"demo": [["--set", f"{LOOK}=1"], ["--set", LOOK], ["--set", f"seed={LOOK}"]]}
"""What stands for the options of a command that would start something."""


def cases() -> list[list[str]]:
    """Each option that takes a value, and each place for a word, with a secret in it."""
    found = []
    for name in parser._commands():
        command = parser.build([name])._subparsers._group_actions[0].choices[name]  # type: ignore[union-attr, index]
        found.append([name, *SOURCE.get(name, []), "--hub_token", LOOK])
        found.append([name, *SOURCE.get(name, []), f"--hub_token={URL}"])
        if name in WORDS:
            found += [[name, *words] for words in WORDS[name]]
            continue
        for action in command._actions:
            if isinstance(action, (argparse._StoreTrueAction, argparse._HelpAction)):
                continue
            option = action.option_strings[-1:]
            before = SOURCE.get(name, []) if option else SOURCE.get(name, [""])[1:]
            before = before or (["last"] if option and any(not one.option_strings for one in command._actions) else [])
            found += [[name, *before, *option, text] for text in (LOOK, URL, f"{'x' * 40}{LOOK}")]
            if option in (["--set"], ["--unset"]):
                found += [[name, *before, *option, f"{LOOK}=1"], [name, *before, *option, f"seed={URL}"]]
    return found


MORE = [
    [LOOK],
    ["--lang", LOOK, "recipes"],
    [f"--lang={URL}", "recipes"],
    ["check", f"prl-grpo/{LOOK}"],
    ["check", f"{LOOK}.toml"],
    ["check", f"{LOOK}/x.toml"],
    ["check", "key.toml"],
    ["check", "recipe.toml"],
    ["check", "preset.toml"],
    ["check", "schema.toml"],
    ["export", "prl-grpo", "--format", "bash", "-o", f"missing/{LOOK}"],
    ["export", "prl-grpo", "--format", "skypilot", "--image", URL],
    ["check", "prl-grpo", "--hub_token", "hunter2"],
    ["check", "prl-grpo", "--password_2=hunter2"],
]
FILES = {
    "key.toml": f'schema = 1\nrecipe = "prl-grpo"\n[values]\n"{LOOK}" = 1\n',
    "recipe.toml": f'schema = 1\nrecipe = "{LOOK}"\n',
    "preset.toml": f'schema = 1\nrecipe = "prl-grpo"\npreset = "{LOOK}"\n',
    "schema.toml": f'schema = 1\nrecipe = "prl-grpo"\n{LOOK} = "{URL}"\n',
}


@pytest.mark.parametrize("words", cases() + MORE, ids=" ".join)
def test_no_sentence_repeats_a_secret(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    told = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", streams.Narration(told, "utf-8", line_buffering=True))
    with contextlib.suppress(SystemExit):
        main(words)
    said = capsys.readouterr().out + told.getvalue().decode()
    assert said
    assert [secret for secret in SECRETS if secret in said] == [], said
    assert "unexpected" not in said


def test_the_installed_script_hides_it_too(script) -> None:
    done = script("check", "prl-grpo", "--hub_token", LOOK)
    assert (done.code, LOOK in done.err, "unrecognized arguments: --hub_token …" in done.err) == (2, False, True)


def test_a_fault_of_our_own_is_recorded_without_it() -> None:
    try:
        raise ValueError(f"no {LOOK} at {URL}")
    except ValueError as error:
        told = crash.record(error)
    kept = (paths.state_dir() / crash.FILE).read_text()
    assert "ValueError: no … at https://…@h" in kept
    assert not [secret for secret in SECRETS if secret in kept + told]
