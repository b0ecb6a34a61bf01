"""The accelerate and DeepSpeed files alone. Judges: accelerate 1.15's own loader and launch checks; DeepSpeed 0.19.8's own
config class where PRL_TUI_DEEPSPEED_PYTHON names an interpreter that has it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from prl_tui.core import plan, seal
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS, fitting
from tests.built_in import RECIPES
from tests.export.scripts import Bench, script

ONE = resolve(RECIPES["minionerec-rl"], "four-gpu")

PYTHON = os.environ.get("PRL_TUI_DEEPSPEED_PYTHON", "")  # each test's environment has none of ours

JUDGE = """import json, sys
from deepspeed.runtime.config import DeepSpeedConfig
given = {k: v for k, v in json.load(open(sys.argv[1])).items() if v != "auto"}
given.update(train_micro_batch_size_per_gpu=2, gradient_accumulation_steps=4)
given.pop("train_batch_size", None)
read = DeepSpeedConfig(given)
print("READ", read.zero_config.stage, read.bfloat16_config.enabled)
"""


def with_(**changes: object) -> RunConfig:
    return ONE.with_values(changes, Source.SET)


def written(folder: Path, config: RunConfig) -> Path:
    """Both files, where they expect each other; accelerate's."""
    made = plan.build(config)
    for name, file in (("accelerate", "my.accelerate.yaml"), ("deepspeed", "deepspeed.json")):
        assert FORMATS[name].refused(made) == ""
        (folder / file).write_text(FORMATS[name](made).text, "utf-8")
    return folder / "my.accelerate.yaml"


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "stage"), [(1, 2), (2, 3)])
def test_accelerate_loads_its_config_and_finds_the_other_beside_it(
    nodes: int, stage: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args_of = pytest.importorskip("accelerate.commands.config.config_args", reason="needs accelerate")
    launch = pytest.importorskip("accelerate.commands.launch")
    file = written(tmp_path, with_(nproc_per_node=2, nnodes=nodes, zero_stage=stage, master_addr="10.0.0.1"))
    loaded = args_of.load_config_from_file(str(file))
    assert type(loaded).__name__ == "ClusterConfig"
    assert loaded.distributed_type.value == "DEEPSPEED"
    monkeypatch.chdir(tmp_path)
    beside = Path(loaded.deepspeed_config["deepspeed_config_file"])
    assert json.loads(beside.read_text())["zero_optimization"]["stage"] == stage
    words = ["--config_file", str(file), f"--num_processes={2 * nodes}", "rl.py"]
    args, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(words))
    assert args.use_deepspeed


def test_they_are_the_files_of_the_plan() -> None:
    made = plan.build(ONE)
    of = {file.name: file.text(".") for file in made.files}
    assert FORMATS["accelerate"](made).text.endswith(of["accelerate.yaml"])
    assert FORMATS["deepspeed"](made).text == of["deepspeed.json"]
    assert yaml.safe_load(FORMATS["accelerate"](made).text) == yaml.safe_load(of["accelerate.yaml"])
    assert seal.edited(FORMATS["accelerate"](made).text) is False


def test_they_are_offered_only_where_the_plan_writes_them() -> None:
    assert {"accelerate", "deepspeed"} <= set(fitting(plan.build(ONE)))
    assert "deepspeed" not in fitting(plan.build(resolve(RECIPES["custom"], "accelerate")))
    for other in (resolve(RECIPES["custom"], "torchrun"), with_(accelerate_config="file")):
        assert not {"accelerate", "deepspeed"} & set(fitting(plan.build(other)))
    refused = FORMATS["deepspeed"].refused(plan.build(resolve(RECIPES["custom"], "torchrun")))
    assert refused == "This plan writes no DeepSpeed config; those of minionerec-rl do."


@pytest.mark.parametrize(("nodes", "each", "kind"), [(1, 2, "MULTI_GPU"), (2, 4, "MULTI_GPU"), (1, 1, "NO")])
def test_a_command_that_gives_the_counts_itself_makes_a_config_that_accelerate_loads(
    nodes: int, each: int, kind: str, tmp_path: Path
) -> None:
    args_of = pytest.importorskip("accelerate.commands.config.config_args", reason="needs accelerate")
    launch = pytest.importorskip("accelerate.commands.launch")
    many = {"nnodes": nodes, "node_rank": nodes - 1, "master_addr": "10.0.0.1"} if nodes > 1 else {}
    one = resolve(RECIPES["custom"], "accelerate").with_values(
        {"nproc_per_node": each, "master_port": 29511, **many}, Source.SET
    )
    made = plan.build(one)
    assert FORMATS["accelerate"].refused(made) == ""
    file = tmp_path / "my.yaml"
    file.write_text(FORMATS["accelerate"](made).text, "utf-8")
    loaded = args_of.load_config_from_file(str(file))
    assert type(loaded).__name__ == "ClusterConfig"
    assert (loaded.num_machines, loaded.num_processes, loaded.machine_rank) == (nodes, each * nodes, nodes - 1)
    assert (loaded.distributed_type.value, loaded.main_process_port) == (kind, 29511)
    assert loaded.main_process_ip == ("10.0.0.1" if nodes > 1 else None)
    words = ["--config_file", str(file), "train.py"]
    args, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(words))
    assert (args.num_processes, args.num_machines, bool(args.multi_gpu)) == (each * nodes, nodes, kind == "MULTI_GPU")


def test_what_they_do_not_carry_is_told() -> None:
    lost = FORMATS["accelerate"](plan.build(ONE)).losses
    assert any("./deepspeed.json" in loss for loss in lost)
    assert any("command is not in it" in loss for loss in lost)


def test_options_of_the_launchers_own_are_told_as_not_in_it() -> None:
    """accelerate 1.15: `mixed_precision` and `use_cpu` stand in a config under these names, and the command wins over it."""
    own = {"launcher_arguments": ["--multi_gpu", "--mixed_precision", "bf16"]}
    lost = FORMATS["accelerate"](
        plan.build(resolve(RECIPES["custom"], "accelerate").with_values(own, Source.SET))
    ).losses
    assert any("--mixed_precision bf16" in loss and "--multi_gpu" not in loss for loss in lost)
    usual = FORMATS["accelerate"](plan.build(resolve(RECIPES["custom"], "accelerate"))).losses
    assert not any("Not in it" in loss for loss in usual)


@pytest.mark.slow
@pytest.mark.parametrize("stage", [2, 3])
def test_deepspeed_reads_its_settings(stage: int, tmp_path: Path) -> None:
    if not PYTHON:
        pytest.skip("PRL_TUI_DEEPSPEED_PYTHON names no interpreter with DeepSpeed")
    written(tmp_path, with_(zero_stage=stage))
    words = [PYTHON, "-c", JUDGE, str(tmp_path / "deepspeed.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert f"READ {stage} " in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("values", "around"),
    [
        ({"nproc_per_node": 1}, {}),
        ({"nproc_per_node": 1}, {"PRL_NPROC_PER_NODE": "2"}),
        ({"nproc_per_node": 2}, {"PRL_NPROC_PER_NODE": "1"}),
        ({"nproc_per_node": 1, "launcher_arguments": ["--multi-gpu", "--max_restarts", "1"]}, {}),
        ({"nproc_per_node": 1, "nnodes": 2, "master_addr": "10.0.0.1"}, {}),
        ({}, {}),
    ],
)
def test_one_process_is_not_started_as_several_gpus(
    bench: Bench, values: dict[str, object], around: dict[str, str]
) -> None:
    """The judge is accelerate 1.15.0: "You need to use at least 2 processes to use `--multi_gpu`." for one."""
    launch = pytest.importorskip("accelerate.commands.launch", reason="needs accelerate")
    one = resolve(RECIPES["custom"], "accelerate").with_values(values, Source.SET)
    outcome = bench.run(script(one), **around)
    assert outcome.code == 0, outcome.err
    assert outcome.argv is not None
    if not around:
        assert outcome.argv == list(plan.build(one).argv)
    args, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(outcome.argv[2:]))
    assert bool(args.multi_gpu) == (args.num_processes > 1)
