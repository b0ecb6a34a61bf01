"""A variable of the shell that a script sets itself is not replaced in silence. Judge: bash, and what the launcher got."""

from __future__ import annotations

import pytest

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS
from tests.built_in import CATALOG
from tests.export.scripts import Bench

OWN, OVER = "CUDA_VISIBLE_DEVICES", "PRL_CUDA_VISIBLE_DEVICES"


def config(recipe: str, preset: str, **changes: object) -> RunConfig:
    return resolve(CATALOG.recipes[recipe], preset).with_values(changes, Source.SET)


STANDARD = config("prl-grpo", "standard-4gpu")


@pytest.mark.parametrize("given", ["4,5,6,7", "0,1,2", "", "4\n5", "GPU-1", "$(id)", "[red]"])
def test_another_list_of_gpus_is_told_in_one_line(bench: Bench, given: str) -> None:
    done = bench.run_config(STANDARD, CUDA_VISIBLE_DEVICES=given)
    [line] = done.err.splitlines()
    assert f"warning: {OWN}={given}".encode("unicode_escape").decode() in line
    assert "sets 0,1,2,3" in line
    assert OVER in line
    assert (done.code, done.env[OWN]) == (0, "0,1,2,3")


@pytest.mark.parametrize("env", [{}, {OWN: "0,1,2,3"}, {OWN: "4,5,6,7", OVER: "4,5,6,7"}])
def test_the_same_list_is_not_told(bench: Bench, env: dict[str, str]) -> None:
    done = bench.run_config(STANDARD, **env)
    assert (done.err, done.env[OWN]) == ("", env.get(OVER, "0,1,2,3"))


def test_a_list_that_the_script_leaves_alone_is_not_told(bench: Bench) -> None:
    done = bench.run_config(
        config("prl-grpo", "standard-4gpu", cuda_visible_devices=None), CUDA_VISIBLE_DEVICES="4,5,6,7"
    )
    assert (done.code, done.err, done.env[OWN]) == (0, "", "4,5,6,7")


def test_the_launchers_own_variables_are_told_too(bench: Bench) -> None:
    done = bench.run_config(config("swift-grpo", CATALOG.recipes["swift-grpo"].data.default_preset, launcher="swift"),
                            NPROC_PER_NODE="7", WANDB_MODE="offline")  # fmt: skip
    [line] = done.err.splitlines()
    assert "NPROC_PER_NODE=7" in line
    assert "PRL_NPROC_PER_NODE" in line
    assert done.env["WANDB_MODE"] == "offline"  # its bare name overrides: nothing is replaced


@pytest.mark.parametrize("name", ["slurm", "dlc", "trainjob", "pytorchjob", "skypilot", "dstack"])
def test_where_the_platforms_gpus_are_kept_nothing_is_said(name: str) -> None:
    text = FORMATS[name](plan.build(STANDARD)).text
    assert f'{OVER}="$CUDA_VISIBLE_DEVICES"' in text.replace("''", "")
    assert "replaced" not in text


@pytest.mark.parametrize("name", ["oneline", "command", "bat", "env"])
def test_a_format_that_replaces_in_silence_says_so_in_its_notes(name: str) -> None:
    """The line that a script writes where it runs has no place here."""
    notes = [note for note in FORMATS[name](plan.build(STANDARD)).losses if "is replaced" in note]
    assert len(notes) == 1
    assert OWN in notes[0]
    assert ("WANDB_MODE" in notes[0]) == (name == "env")  # where it overrides, another note has it
    none = config("custom", "python", cuda_visible_devices=None, environment=None)
    assert not plan.build(none).env
    assert not any("is replaced" in note for note in FORMATS[name](plan.build(none)).losses)


def test_what_the_notes_say_is_replaced_is(bench: Bench) -> None:
    for name in ("oneline", "command"):
        made = FORMATS[name](plan.build(STANDARD))
        [note] = [note for note in made.losses if "is replaced" in note]
        names = note.removeprefix("What the shell itself has for ").partition(" is replaced")[0].split(", ")
        done = bench.run(made.text, **dict.fromkeys(names, "from-the-shell"))
        assert (done.err, names) == ("", [OWN])
        assert done.env[OWN] == "0,1,2,3"


@pytest.mark.parametrize("name", ["bash", "slurm", "toml"])
def test_a_format_that_says_it_where_it_runs_or_sets_none_has_no_such_note(name: str) -> None:
    assert not any("is replaced" in note for note in FORMATS[name](plan.build(STANDARD)).losses)
