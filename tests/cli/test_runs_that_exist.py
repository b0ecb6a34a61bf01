"""Exit code 3 is for runs that do not exist: what a run lacks is 2. Judge: README's table."""

from __future__ import annotations

import json
import sys

import pytest

from prl_tui.machine import paths
from prl_tui.runs import launcher
from tests.runs.helpers import ended


@pytest.fixture
def run():
    info = {"recipe": "custom"}
    found = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "print('done')"), info=info))
    ended(found)
    for record in found.path.glob("gpus*"):
        record.unlink()
    return found


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("logs", "RUN", "--completions"), "run RUN has written no completions.jsonl."),
        (("logs", "RUN", "--gpus"), "run RUN has no record of its GPUs."),
        (("logs", "RUN", "--rank", "7"), "run RUN has no log of rank 7; ranks: none yet."),
        (("compare", "RUN"), "run RUN is the first of its recipe; name another."),
    ],
)
def test_what_a_run_lacks_is_exit_2(cli, run, words, sentence) -> None:
    done = cli(*(word.replace("RUN", run.id) for word in words))
    assert (done.code, done.out, done.err) == (2, "", f"prl-tui: {sentence.replace('RUN', run.id)}\n")


@pytest.mark.parametrize("words", [("logs", "--completions"), ("logs", "--gpus"), ("compare",), ("stacks",), ("stop",)])
def test_a_run_that_does_not_exist_is_exit_3(cli, run, words) -> None:
    assert cli(words[0], "nosuch", *words[1:]).code == 3
    assert cli(words[0], run.id + "x", *words[1:]).code == 3


def test_the_help_of_compare_says_what_one_run_is_compared_with(cli) -> None:
    assert "the last run of its recipe before it" in " ".join(cli("compare", "--help").out.split())


def test_the_help_of_launch_says_what_happens_without_an_option(cli) -> None:
    """It did not say that it watches, nor that leaving leaves the run going on."""
    told = " ".join(cli("launch", "--help").out.split())
    assert "the run is watched" in told
    assert "Leaving that (q, Ctrl-C) leaves the run going on" in told


@pytest.mark.parametrize("text", ["{", "", "[1]", '{"schema": 99}'])
def test_a_damaged_record_is_named_where_a_run_is_a_source(cli, run, text) -> None:
    """It was "neither a file, a recipe nor a run", while the list showed it."""
    (run.path / "run.json").write_text(text)
    for words in (("check", run.id), ("check", "last"), ("export", run.id, "--format", "env"), ("compare", run.id)):
        done = cli(*words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"prl-tui: run {run.id}: run.json ")


@pytest.mark.parametrize(
    "damage",
    [
        {"unset": [[]]}, {"unset": [None, {}, 7]}, {"unset": {"script": []}}, {"sources": {"script": []}},
        {"sources": {"script": {"a": 1}}}, {"sources": {"script": 7}}, {"values": {"script": "a.py", "no": []}, "sources": {}},
    ],
    ids=str,
)  # fmt: skip
def test_odd_shapes_in_a_runs_settings_are_no_fault_of_ours(cli, run, damage) -> None:
    """`unset: [[]]` was "an unexpected fault: TypeError", and ended the app."""
    record = json.loads((run.path / "run.json").read_text())
    whole = {"preset": None, "values": {"script": "a.py"}, "sources": {"script": "form"}}
    (run.path / "run.json").write_text(json.dumps(record | whole | damage))
    for words in (("check", run.id), ("export", run.id, "--format", "env"), ("compare", run.id)):
        done = cli(*words)
        assert done.code in {0, 1, 2}
        assert "unexpected" not in done.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("export", "demo", "--format", "bash", "-o", ""), "-o is empty; the name of a file is needed"),
        (("check", "demo/"), "the name of the preset is empty; demo has two-ranks, long, one-process."),
    ],
)
def test_an_empty_name_is_told_as_empty(cli, words, sentence) -> None:
    done = cli(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"prl-tui: {sentence}")
