"""Each recipe's command is the one that its program's own script, guide or real run has, order apart.

Judges: the scripts of Batorskq/prl (upstream, `scripts/<task>/`), the guides of AnyLLM-to-VLM (README_MULTI_GPU.md) and
mmdpo-alignment (MULTI_GPU_TRAINING.md at 69d65ca), MiniOneRec's sft.sh and rl.sh at 81b4ba9, and the `run sh:` lines of real
runs of ms-swift 4.5.2 (sft, dpo and rm on one process) and 4.6.0 (dpo on two).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prl_tui.core import checks
from tests.recipes.goldens import RECIPES, command_of, config, recorded

RUNS = Path(__file__).parent.parent / "fixtures" / "engine_runs"

# --- PRL: one preset a task, upstream's scripts -------------------------------------------------------------------

UPSTREAM = """DATASET={dataset} NUMBER_OF_SAMPLES={samples} NUMBER_OF_PROMPTS={prompts} ADVERSARIAL=0 REASONING=True
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=1 --master_port={port} -m swift.cli.rlhf
--rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --model_type qwen2_5
--dataset datasets/original/{dataset}_train.jsonl --val_dataset datasets/original/{dataset}_val.jsonl
--reward_funcs accuracy format --torch_dtype bfloat16 --gradient_checkpointing_kwargs '{{"use_reentrant": false}}'
--use_lmdeploy true --train_type lora --lora_rank 8 --lora_alpha 32 {seed} --max_completion_length 1024
--num_train_epochs 10 --per_device_train_batch_size 4 --per_device_eval_batch_size 4 --learning_rate 1e-6
--gradient_accumulation_steps 1 --eval_steps 100 --save_steps 100 --save_total_limit 20 --max_length 2048
--output_dir output --warmup_ratio 0 --dataloader_num_workers 1 --dataset_num_proc 4 --num_generations 4
--temperature 0.9 --report_to wandb --logging_steps 5 --system examples/train/grpo/prompt.txt --log_completions true
--num_iterations 1 --num_infer_workers 1"""
"""The script has `NPROC_PER_NODE=1 MASTER_PORT=… swift rlhf`; this is the torchrun that the swift command starts for it."""

TASKS = [
    ("mr", "mr", 100, 10, 29516, "--seed 5"),
    ("cr", "cr", 100, 10, 19509, "--seed 5"),
    ("sst-2", "sst-2", 100, 10, 29503, "--seed 3"),
    ("sst-5", "sst5", 100, 10, 29508, "--seed 5"),
    ("subj", "subj", 100, 10, 29504, "--seed 5"),
    ("trec", "trec", 100, 10, 29501, "--seed 10"),
    ("news", "news", 30, 10, 29501, ""),
    ("sim", "sim", 20, 5, 29503, "--seed 5"),
    ("sum", "sum", 10, 3, 29503, "--seed 5"),
]


@pytest.mark.parametrize(("task", "dataset", "samples", "prompts", "port", "seed"), TASKS)
def test_a_task_of_prl_is_its_script(task, dataset, samples, prompts, port, seed):
    text = UPSTREAM.format(dataset=dataset, samples=samples, prompts=prompts, port=port, seed=seed).replace("\n", " ")
    env, plain, options = recorded(text)
    # Not as the script has it: one loader worker dies in seed_worker() with TRL 0.17 and transformers 4.56.
    assert options.pop("--dataloader_num_workers") == ("1",)
    made_env, made_plain, made = command_of(config("prl-grpo", f"task-{task}"))
    assert made.pop("--dataloader_num_workers") == ("0",)
    assert made_env.pop("WANDB_MODE") == "offline"  # a job without a terminal must not ask for a key
    assert (made_env, made_plain, made) == (env, plain, options)


def test_every_task_has_its_preset():
    named = set(RECIPES["prl-grpo"].by_key["DATASET"].choices)
    assert {dataset for _, dataset, *_ in TASKS} == named
    assert {name for name in RECIPES["prl-grpo"].presets if name.startswith("task-")} == {f"task-{t[0]}" for t in TASKS}


def test_six_gpus_train_on_three_and_generate_on_three_within_days():
    # The fork's run v31 had this layout over the 8,462 rows of mr and ended at step 2,822.
    found = checks.check(config("prl-grpo", "six-gpu"), checks.Facts(rows=8462, node_gpus=6))
    assert [finding.code for finding in found.findings if finding.severity != "note"] == []
    assert found.steps.total == 2822
    env, _, options = command_of(config("prl-grpo", "six-gpu"))
    assert (env["NUMBER_OF_SAMPLES"], env["NUMBER_OF_PROMPTS"]) == ("20", "2")
    assert options["--nproc_per_node"] == options["--num_infer_workers"] == ("3",)
    assert options["--max_completion_length"] == ("384",)


def test_smoke_10_logs_evaluates_and_saves_before_it_ends():
    _, _, options = command_of(config("prl-grpo", "smoke-10"))
    steps = {name: int(options[f"--{name}"][0]) for name in ("max_steps", "logging_steps", "eval_steps", "save_steps")}
    assert steps == {"max_steps": 10, "logging_steps": 1, "eval_steps": 5, "save_steps": 5}


# --- ms-swift 4: the commands that real runs printed --------------------------------------------------------------

SFT = """swift sft --model tiny --model_type qwen2 --template qwen2_5 --tuner_type full --dataset sft.jsonl
--val_dataset sft.jsonl --torch_dtype float32 --num_train_epochs 1 --per_device_train_batch_size 4
--gradient_accumulation_steps 2 --eval_steps 4 --save_steps 4 --logging_steps 2 --output_dir out_sft --max_length 128
--dataloader_num_workers 0"""
COMMON = """--model tiny --model_type qwen2 --template qwen2_5 --torch_dtype float32 --max_length 128
--dataloader_num_workers 0 --logging_steps 4 --save_strategy no --eval_strategy no --check_model false --use_cpu true
--per_device_train_batch_size 4 --tuner_type lora --dataset dpo.jsonl --num_train_epochs 1"""
DPO = f"swift rlhf --rlhf_type dpo {COMMON} --output_dir odpo"
RM = f"swift rlhf --rlhf_type rm {COMMON} --output_dir orm"


def as_recorded(recipe: str, options: dict[str, tuple[str, ...]], **more: object):
    """The preset of one GPU with a recorded command's values, everything else left out."""
    fields = RECIPES[recipe].by_key
    changes: dict[str, object] = {key: "" for key, field in fields.items() if field.flag}
    for flag, values in options.items():
        if flag not in {"--rlhf_type", "--nproc_per_node", "--master_port"}:
            key = flag.removeprefix("--")
            changes[key] = " ".join(values)
            assert fields[key].flag == flag
    return config(recipe, "lora-1gpu", changes | {"cuda_visible_devices": "", "WANDB_MODE": ""} | more)


@pytest.mark.parametrize(("recipe", "text"), [("swift-sft", SFT), ("swift-dpo", DPO), ("swift-rm", RM)])
def test_a_swift_command_is_that_of_a_real_run(recipe, text):
    env, plain, options = recorded(text.replace("\n", " "))
    assert command_of(as_recorded(recipe, options)) == (env, plain, options)


def test_swift_on_two_processes_is_the_torchrun_that_the_real_command_started():
    console = (RUNS / "swift_cli_nproc_env_dpo_ok" / "console.raw").read_text("utf-8", "replace")
    line = re.search(r"run sh: `\S+ -m torch\.distributed\.run (.*?) \S+/swift/cli/rlhf\.py (.*?)`", console)
    assert line
    launch = recorded(f"torchrun {line[1]} -m swift.cli.rlhf {line[2]}")
    options = launch[2]
    by_torchrun = as_recorded("swift-dpo", options, launcher="torchrun", nproc_per_node=2, master_port=29513)
    assert command_of(by_torchrun) == launch
    by_swift = as_recorded("swift-dpo", options, nproc_per_node=2, master_port=29513)
    env, plain, made = command_of(by_swift)
    assert env == {"NPROC_PER_NODE": "2", "MASTER_PORT": "29513"}
    assert plain == ("swift", "rlhf")
    assert made == {k: v for k, v in options.items() if k not in {"--nproc_per_node", "--master_port"}}


@pytest.mark.parametrize(
    ("recipe", "run"), [("swift-sft", "sft_np2_ok"), ("swift-dpo", "dpo_np2_ok"), ("swift-rm", "dpo_np2_ok")]
)
def test_ms_swift_4_6_knows_every_flag(recipe, run):
    # A real run of ms-swift 4.6.0 lists each argument that its parser knows, one `name=value,` a line.
    console = (RUNS / run / "console.raw").read_text("utf-8", "replace")
    known = set(re.findall(r"^(\w+)=", console, re.MULTILINE))
    flags = {field.flag.removeprefix("--") for field in RECIPES[recipe].fields if field.flag}
    assert len(known) > 300
    assert flags - known == set()


@pytest.mark.parametrize("recipe", ["swift-sft", "swift-dpo", "swift-rm"])
def test_an_accumulation_that_is_left_out_is_an_error(recipe):
    # ms-swift would take as many micro-steps as make 16 samples, and the batch shown would not be the real one.
    found = checks.check(config(recipe, "lora-4gpu", {"gradient_accumulation_steps": ""}))
    assert [f.field for f in found.findings if f.severity == "error"] == ["gradient_accumulation_steps"]


# --- the others ---------------------------------------------------------------------------------------------------

VLM = """CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=4 --master_port=29500 train_vlm.py
--config configs/vlm_pretrain.yaml --stage pretrain --batch_size 32 --lr 1.6e-3"""
"""The guide's section with the whole command; its --master_addr=localhost says nothing on one machine."""
REWARD = """torchrun --nproc_per_node=8 --master_port=29500 -m src.training.train_rm --config configs/rm_config.yaml
--task {0} --output_dir models/{0}_rm"""
ALIGN = """torchrun --nproc_per_node=8 --master_port=29501 -m src.training.train_safe_mm_dpo
--config configs/dpo_config.yaml --output_dir models/aligned --logging_dir logs/training/safe_mm_dpo"""
RL = """NCCL_IB_DISABLE=1 HF_ENDPOINT=https://hf-mirror.com accelerate launch --config_file ./config/zero2_opt.yaml
--num_processes 8 --main_process_port 29503 rl.py --model_path path_to_model --train_batch_size 64
--eval_batch_size 128 --num_train_epochs 2 --gradient_accumulation_steps 2
--train_file ./data/Amazon/train/Industrial_and_Scientific*11.csv
--eval_file ./data/Amazon/valid/Industrial_and_Scientific*11.csv
--info_file ./data/Amazon/info/Industrial_and_Scientific*.txt --category Industrial_and_Scientific
--sample_train False --eval_step 0.0999 --reward_type ranking --num_generations 16 --mask_all_zero False
--dynamic_sampling False --sync_ref_model True --beam_search True --test_during_training False --temperature 1.0
--learning_rate 1e-5 --add_gt False --beta 1e-3 --dapo False --output_dir output_dir --wandb_run_name wandb_name
--sid_index_path ./data/Amazon/index/Industrial_and_Scientific.index.json
--item_meta_path ./data/Amazon/index/Industrial_and_Scientific.item.json"""


@pytest.mark.parametrize(
    ("recipe", "preset", "text"),
    [
        ("vlm-pretrain", "four-gpu", VLM),
        ("reward-model", "helpful-8gpu", REWARD.format("helpful")),
        ("reward-model", "harmless-8gpu", REWARD.format("harmless")),
        ("safe-mm-dpo", "eight-gpu", ALIGN),
        ("minionerec-rl", "eight-gpu", RL),
    ],
)
def test_a_preset_is_its_programs_own_command(recipe, preset, text):
    assert command_of(config(recipe, preset)) == recorded(text.replace("\n", " "))


def test_minionerec_sft_is_its_script_and_the_programs_own_defaults():
    text = """NCCL_IB_DISABLE=1 torchrun --nproc_per_node 8 sft.py --base_model your_model_path --batch_size 1024
    --micro_batch_size 16 --train_file ./data/Amazon/train/Industrial_and_Scientific*11.csv
    --eval_file ./data/Amazon/valid/Industrial_and_Scientific*11.csv --output_dir output_dir/xxx
    --wandb_project wandb_proj --wandb_run_name wandb_name --category Industrial_and_Scientific
    --train_from_scratch False --seed 42 --sid_index_path ./data/Amazon/index/Industrial_and_Scientific.index.json
    --item_meta_path ./data/Amazon/index/Industrial_and_Scientific.item.json --freeze_LLM False"""
    env, plain, options = recorded(" ".join(text.split()))
    made_env, made_plain, made = command_of(config("minionerec-sft", "eight-gpu"))
    own = {"--num_epochs": ("10",), "--learning_rate": ("3e-4",), "--group_by_length": ("False",)}
    assert made.pop("--standalone") == ()  # a free port where the script takes torchrun's own
    assert made == options | own
    assert made_plain == plain
    assert made_env == env | {"WANDB_MODE": "offline", "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}


def test_a_single_process_of_the_guides_needs_no_torchrun():
    env, plain, options = command_of(config("reward-model", "single-gpu"))
    assert env == {"CUDA_VISIBLE_DEVICES": "0"}
    assert plain == ("python", "-m", "src.training.train_rm")
    assert options["--task"] == ("helpful",)
    assert command_of(config("vlm-sft", "single-gpu"))[1] == ("python", "train_vlm.py")


# --- their rules --------------------------------------------------------------------------------------------------


def codes(recipe: str, preset: str, **changes: object) -> list[str]:
    return [f.code for f in checks.check(config(recipe, preset, changes)).findings if f.severity != "note"]


def test_a_vlm_batch_is_a_total_that_the_processes_share():
    batch = checks.check(config("vlm-pretrain", "four-gpu")).batch
    assert (batch.per_device, batch.global_batch) == (8, 32)
    assert codes("vlm-pretrain", "four-gpu", batch_size=2) == ["total-batch-too-small"]
    assert codes("vlm-pretrain", "four-gpu", batch_size=22) == ["total-batch-rounds-down"]


def test_minionerec_rl_has_the_rule_of_trl_015_for_training_and_evaluation():
    assert checks.check(config("minionerec-rl", "eight-gpu")).batch.prompts_per_step == 64
    assert codes("minionerec-rl", "eight-gpu", train_batch_size=1, gradient_accumulation_steps=2) == [
        "num-generations-divides"
    ]
    assert codes("minionerec-rl", "eight-gpu", eval_batch_size=1) == ["eval-batch-divides"]
    found = checks.check(config("minionerec-rl", "eight-gpu", {"num_generations": 12}))
    fixes = [dict(fix.changes) for finding in found.findings for fix in finding.fixes]
    assert {"num_generations": 8} in fixes or {"num_generations": 16} in fixes


@pytest.mark.parametrize("recipe", ["swift-sft", "swift-dpo", "swift-rm"])
def test_gpus_that_processes_cannot_share_evenly_are_an_error(recipe):
    assert codes(recipe, "lora-4gpu", nproc_per_node=3) == ["gpus-divide"]
    assert codes(recipe, "full-8gpu", nproc_per_node=4) == ["sharding-one-gpu-each"]
