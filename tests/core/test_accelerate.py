"""Accelerate configs, written and given. Judge: accelerate's own loader and launch checks (1.15); DeepSpeed's plugin too where
it is installed."""

from __future__ import annotations

import pytest

from prl_tui.core import checks, given, plan
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.core.flat_yaml import read_json
from prl_tui.core.value import replace
from tests.built_in import RECIPES

ZERO2 = """compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  # gradient_accumulation_steps: 1
  contiguous_gradients: true
  offload_optimizer_device: none
  offload_param_device: none
  overlap_comm: true
  reduce_scatter: true
  reduce_bucket_size: 5e8
  zero_stage: 2
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
# num_processes: 8
"""
"""What MiniOneRec's config/zero2_opt.yaml says, as the facts record it."""


def config(preset="four-gpu", **changes):
    return resolve(RECIPES["minionerec-rl"], preset).with_values(changes, Source.SET)


def test_accelerate_loads_what_is_written(tmp_path):
    args_of = pytest.importorskip("accelerate.commands.config.config_args", reason="needs accelerate")
    launch = pytest.importorskip("accelerate.commands.launch")
    for file in plan.build(config(nproc_per_node=2)).files:
        (tmp_path / file.name).write_text(file.text(str(tmp_path)), "utf-8")
    loaded = args_of.load_config_from_file(str(tmp_path / "accelerate.yaml"))
    assert (loaded.num_processes, loaded.num_machines, loaded.distributed_type.value) == (2, 1, "DEEPSPEED")
    assert loaded.deepspeed_config["deepspeed_config_file"] == str(tmp_path / "deepspeed.json")
    words = [
        "--config_file",
        str(tmp_path / "accelerate.yaml"),
        "--num_processes=2",
        "--main_process_port=29503",
        "rl.py",
    ]
    args, _, from_file = launch._validate_launch_command(launch.launch_command_parser().parse_args(words))
    assert (args.num_processes, args.use_deepspeed, args.num_machines, from_file) == (2, True, 1, False)
    assert args.deepspeed_config_file == str(tmp_path / "deepspeed.json")


def findings(text, beside="", **changes):
    one = config("eight-gpu", **changes)
    [(template, path)] = given.wanted(one)
    known = given.parse(template, path, text)
    if beside:
        known = replace(known, beside=read_json(beside))
    return [f for f in checks.check(one, Facts(given=(known,))).findings if f.field == "config_file"]


def codes(*args, **changes):
    return [(f.code, f.severity) for f in findings(*args, **changes)]


def test_the_programs_own_file_is_fine_but_for_keys_that_nobody_reads():
    [note] = findings(ZERO2)
    assert (note.code, note.severity) == ("accelerate-ignores", "note")
    assert "reduce_bucket_size, contiguous_gradients, overlap_comm, reduce_scatter" in note.message


def test_accelerate_hands_those_keys_to_nobody(tmp_path):
    # accelerate 1.15: the launch passes DeepSpeed's settings on as variables, and there is none for a bucket.
    launch = pytest.importorskip("accelerate.commands.launch", reason="needs accelerate")
    from accelerate.utils.launch import prepare_deepspeed_cmd_env

    (tmp_path / "zero2.yaml").write_text(ZERO2)
    words = ["--config_file", str(tmp_path / "zero2.yaml"), "--num_processes=2", "--main_process_port=0", "rl.py"]
    args, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(words))
    args.deepspeed_fields_from_accelerate_config = []
    _, env = prepare_deepspeed_cmd_env(args)
    assert env["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == "2"
    assert not any("BUCKET" in name or "OVERLAP" in name for name in env)


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        (ZERO2.replace("num_machines: 1", "num_machines: 2"), "", ("accelerate-machines", "error")),
        (ZERO2.replace("# num_processes: 8", "num_processes: 4"), "", ("accelerate-processes", "note")),
        (ZERO2.replace("distributed_type: DEEPSPEED\n", ""), "", ("accelerate-type", "error")),
        (ZERO2.replace("# gradient_accumulation_steps: 1", "gradient_accumulation_steps: 1"), "", ("deepspeed-triple", "error")),
        ("distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n", '{"train_batch_size": 512}',
         ("deepspeed-triple", "error")),
        ("distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n  zero_stage: 2\n", "{}",
         ("accelerate-clash", "error")),
        ("- not\n- a mapping\n", "", ("config-unread", "note")),
    ],
)  # fmt: skip
def test_what_goes_against_the_fields_is_found(text, beside, expected):
    assert expected in codes(text, beside)


def test_figures_that_agree_or_say_auto_are_fine():
    beside = '{"train_micro_batch_size_per_gpu": 64, "gradient_accumulation_steps": 2, "train_batch_size": 1024}'
    text = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
    assert codes(text, beside) == []
    assert codes(text, '{"train_batch_size": "auto"}') == []


def test_accelerate_refuses_the_clash_that_is_found(tmp_path, monkeypatch):
    utils = pytest.importorskip("accelerate.utils.dataclasses", reason="needs accelerate")
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 2}}')
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_CONFIG_FILE", str(tmp_path / "ds.json"))
    monkeypatch.setenv("ACCELERATE_CONFIG_DS_FIELDS", "deepspeed_config_file,zero_stage")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
    with pytest.raises(ValueError, match="zero_stage"):
        utils.DeepSpeedPlugin()


@pytest.mark.parametrize(
    ("changes", "field", "stage"),
    [
        ({"offload_param_device": "cpu"}, "offload_param_device", 3),
        ({"zero_stage": 0, "offload_optimizer_device": "cpu"}, "offload_optimizer_device", 1),
        ({"zero3_init_flag": True}, "zero3_init_flag", 3),
    ],
)
def test_settings_without_effect_at_a_stage_are_named(changes, field, stage):
    [found] = [f for f in checks.check(config(**changes)).findings if f.code == "deepspeed-unused"]
    assert (found.field, dict(found.fixes[0].changes)) == (field, {"zero_stage": stage})
    assert not [
        f for f in checks.check(config(**changes | {"zero_stage": stage})).findings if f.code == "deepspeed-unused"
    ]
