"""The demo's command line, read without torch."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.demo.faults import FaultSwitches
from prl_tui.demo.options import Options, make_parser, read_options
from prl_tui.demo.train import NO_TORCH
from tests.built_in import RECIPES

ROOT = Path(__file__).parents[2]


def bare_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python without site-packages: no torch, none of our dependencies."""
    clean = {key: value for key, value in os.environ.items() if key not in {"RANK", "WORLD_SIZE", "LANG", "LC_ALL"}}
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
    )


def test_defaults_are_those_of_the_declared_fields():
    assert read_options([]) == Options()
    options = Options()
    assert (options.max_steps, options.global_batch_size, options.per_device_train_batch_size) == (200, 16, 4)
    assert options.faults == FaultSwitches()


def test_every_field_is_a_flag_and_every_flag_has_help():
    actions = {action.dest: action for action in make_parser()._actions if action.dest != "help"}
    fields = {field.name for owner in (Options, FaultSwitches) for field in dataclasses.fields(owner)} - {"faults"}
    assert set(actions) == fields
    assert all(action.help for action in actions.values())


def test_values_reach_their_fields():
    line = (
        "--max_steps 7 --learning_rate 1e-2 --output_dir out --add_version false --save_total_limit 2"
        " --fail_rank 1 --fail_step 3 --spawn_daemon --ignore_sigterm true --exit_code 7"
    )
    options = read_options(line.split())
    assert (options.max_steps, options.learning_rate, options.output_dir) == (7, 0.01, "out")
    assert (options.add_version, options.save_total_limit) == (False, 2)
    assert options.faults == FaultSwitches(
        fail_rank=1, fail_step=3, spawn_daemon=True, ignore_sigterm=True, exit_code=7
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--max_steps 0", "0 is less than 1"),
        ("--max_steps many", "'many' is not a whole number"),
        ("--learning_rate nan", "nan is not a finite number"),
        ("--step_delay -1", "-1 is not a finite number of at least 0"),
        ("--add_version perhaps", "'perhaps' is neither true nor false"),
        ("--device tpu", "'tpu' is none of: auto, cpu, cuda"),
        ("--hidden_size 50", "hidden_size (50) must be a multiple of 4"),
        ("--max_step 3", "unrecognized arguments: --max_step"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_is_wrong(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        read_options(arguments.split())
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_help_works_in_a_python_without_torch_and_says_that_sigterm_saves_nothing():
    done = bare_python("-m", "prl_tui.demo.train", "--help")
    assert done.returncode == 0, done.stderr
    assert "--global_batch_size" in done.stdout
    assert "no checkpoint" in done.stdout
    assert done.stdout.isascii()  # a terminal of any encoding shows it


def test_help_does_not_import_torch_where_there_is_one():
    program = "import sys, prl_tui.demo.train as t\ntry: t.main(['--help'])\nfinally: assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=30
    )
    assert done.returncode == 0, done.stderr


def test_training_without_torch_ends_with_2_and_one_sentence(tmp_path):
    done = bare_python("-m", "prl_tui.demo.train", "--output_dir", str(tmp_path / "out"))
    assert done.returncode == NO_TORCH == 2
    assert done.stderr.splitlines() == ["The demo trains with PyTorch, and this Python has none: pip install torch"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rank", ["0", "1"])
def test_every_rank_refuses_an_indivisible_batch_before_torch_is_imported(rank, tmp_path):
    # The wording is Megatron's rule: global batch = micro batch x data-parallel size x accumulation.
    program = (
        "import importlib.util, sys\n"
        "importlib.util.find_spec = lambda name: name\n"  # as if torch were there
        "from prl_tui.demo.train import main\n"
        "try: main(['--per_device_train_batch_size', '3'])\n"
        "finally: assert 'torch' not in sys.modules\n"
    )
    done = bare_python("-c", program, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(
        "ValueError: global_batch_size (16) must be divisible by per_device_train_batch_size (3) x world_size (2)"
    )


def test_the_recipe_knows_what_the_program_takes_where_a_batch_is_not_given():
    """An emptied batch field was judged by no rule, and the program's own default ended the run."""
    own = make_parser().parse_args([])
    for key in ("global_batch_size", "per_device_train_batch_size"):
        assert RECIPES["demo"].by_key[key].unset == getattr(own, key)
