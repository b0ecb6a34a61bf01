"""The launch plan: the very command that PRL's scripts run, word for word, and what changes with nodes and port."""

from __future__ import annotations

import pytest

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from tests.built_in import RECIPES

PRL = RECIPES["prl-grpo"]


def config(preset: str, **changes: object) -> RunConfig:
    return resolve(PRL, preset).with_values(changes, Source.SET)


def options(words: tuple[str, ...]) -> dict[str, list[str]]:
    """`--flag value…` pairs of a command."""
    found: dict[str, list[str]] = {}
    last: list[str] = []
    for word in words:
        if word.startswith("--") and "=" not in word:
            assert word not in found, f"{word} twice"
            last = found.setdefault(word, [])
        else:
            last.append(word)
    return found


# What PRL's scripts mr_qwen_qwen_4gpu.sh and mr_qwen_qwen.sh (its fork's single-GPU form) give to ms-swift 3.3.
COMMON = {
    "--rlhf_type": ["grpo"], "--model": ["Qwen/Qwen2.5-7B-Instruct"], "--model_type": ["qwen2_5"],
    "--dataset": ["datasets/original/mr_train.jsonl"], "--val_dataset": ["datasets/original/mr_val.jsonl"],
    "--reward_funcs": ["accuracy", "format"], "--torch_dtype": ["bfloat16"],
    "--gradient_checkpointing_kwargs": ['{"use_reentrant": false}'], "--use_lmdeploy": ["false"],
    "--use_vllm": ["true"], "--train_type": ["lora"], "--lora_rank": ["8"], "--lora_alpha": ["32"], "--seed": ["5"],
    "--num_train_epochs": ["10"], "--per_device_train_batch_size": ["4"], "--per_device_eval_batch_size": ["4"],
    "--learning_rate": ["1e-6"], "--gradient_accumulation_steps": ["1"], "--save_total_limit": ["20"],
    "--max_length": ["2048"], "--output_dir": ["output"], "--warmup_ratio": ["0"], "--dataloader_num_workers": ["0"],
    "--temperature": ["0.9"], "--report_to": ["wandb"], "--system": ["examples/train/grpo/prompt.txt"],
    "--log_completions": ["true"], "--num_iterations": ["1"],
}  # fmt: skip
FOUR = {
    "--vllm_gpu_memory_utilization": ["0.40"], "--max_completion_length": ["768"], "--eval_steps": ["200"],
    "--save_steps": ["200"], "--dataset_num_proc": ["8"], "--num_generations": ["2"], "--logging_steps": ["10"],
    "--num_infer_workers": ["4"],
}  # fmt: skip
SINGLE = {
    "--vllm_gpu_memory_utilization": ["0.5"], "--max_completion_length": ["1024"], "--eval_steps": ["100"],
    "--save_steps": ["100"], "--dataset_num_proc": ["4"], "--num_generations": ["4"], "--logging_steps": ["5"],
    "--num_infer_workers": ["1"],
}  # fmt: skip
PROGRAM = {"DATASET": "mr", "NUMBER_OF_SAMPLES": "100", "NUMBER_OF_PROMPTS": "10", "ADVERSARIAL": "0",
           "REASONING": "True", "WANDB_MODE": "offline"}  # fmt: skip


def test_standard_4gpu_is_the_four_gpu_script_word_for_word() -> None:
    made = plan.build(config("standard-4gpu"))
    head = ("torchrun", "--nproc_per_node=4", "--master_port=29500", "-m", "swift.cli.rlhf")
    assert made.argv[:5] == head
    given = options(made.argv[5:])
    given.pop("--eval_strategy", None)  # the script leaves it to ms-swift, whose own default is steps
    assert given == COMMON | FOUR
    assert dict(made.env) == PROGRAM | {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}


def test_single_gpu_is_the_single_gpu_script_word_for_word() -> None:
    made = plan.build(config("single-gpu"))
    assert made.argv[:2] == ("swift", "rlhf")
    given = options(made.argv[2:])
    given.pop("--eval_strategy", None)
    assert given == COMMON | SINGLE
    assert dict(made.env) == PROGRAM | {"CUDA_VISIBLE_DEVICES": "0"}


def test_several_nodes_say_who_and_where() -> None:
    made = plan.build(config("standard-4gpu", nnodes=2, node_rank=1, master_addr="10.0.0.1"))
    assert made.argv[:6] == (
        "torchrun", "--nproc_per_node=4", "--nnodes=2", "--node_rank=1", "--master_addr=10.0.0.1", "--master_port=29500"
    )  # fmt: skip


def test_one_node_without_a_port_is_standalone() -> None:
    assert plan.build(config("standard-4gpu", master_port="")).argv[:3] == (
        "torchrun",
        "--nproc_per_node=4",
        "--standalone",
    )
    several = plan.build(config("standard-4gpu", master_port="", nnodes=2)).argv
    assert "--standalone" not in several


def test_swift_with_several_processes_gets_its_variables() -> None:
    made = plan.build(config("standard-4gpu", launcher="swift", nnodes=2, node_rank=1))
    added = {"NPROC_PER_NODE": "4", "NNODES": "2", "NODE_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    assert dict(made.env).items() >= added.items()


def test_another_port_changes_the_command_alone() -> None:
    made = plan.build(config("standard-4gpu"))
    other = plan.with_port(made, 31000)
    assert other.argv == tuple(word.replace("29500", "31000") for word in made.argv)
    assert other.config == made.config
    assert not made.port_fixed
    assert plan.build(config("standard-4gpu", master_port=29500)).port_fixed


def test_a_field_that_is_not_set_is_left_out() -> None:
    made = plan.build(config("standard-4gpu", system="", cuda_visible_devices="", model="2abc", seed="2abc"))
    assert "--system" not in made.argv
    assert "--seed" not in made.argv
    assert "CUDA_VISIBLE_DEVICES" not in dict(made.env)


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [("", "", ""), ("this", "this", ""), ("conda:prl clean", "conda", "prl clean"), ("/opt/环境", "venv", "/opt/环境")],
)
def test_the_training_environment_is_read_from_its_text(text: str, kind: str, name: str) -> None:
    made = plan.build(config("standard-4gpu", training_env=text)).activation
    assert (made.kind, made.name) == (kind, name)


def test_the_shown_command_is_the_command() -> None:
    import shlex

    made = plan.build(config("standard-4gpu", model="a b'c$(d)", reward_funcs=["x y", "z"]))
    expected = [f"{name}={value}" for name, value in made.env] + list(made.argv)
    assert shlex.split(made.command_line()) == expected
    assert shlex.split(" ".join(made.command_lines())) == expected


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_every_flag_of_a_plan_stands_once(recipe: object) -> None:
    for name in recipe.presets:  # type: ignore[attr-defined]
        words = [word for word in plan.build(resolve(recipe, name)).argv if word.startswith("--")]  # type: ignore[arg-type]
        flags = [word.partition("=")[0] for word in words]
        assert len(flags) == len(set(flags))
