"""Where a guide is wrong or outdated, the recipe does what works, and a sentence of its help says so.

One entry for each point: the guide (000 and 001 PRL, 002 VLM, 003 mmdpo-alignment, 004 MiniOneRec), what the recipe does, and
where it says so in both languages. What is true was read in the programs and run (test_batch_rows, test_golden_commands).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from prl_tui.core import checks
from prl_tui.core.findings import Facts
from tests.recipes.goldens import RECIPES, command_of, config


@dataclass
class Point:
    guide: str
    recipe: str
    says: str
    """Where the sentence stands: a field's key, a preset as `preset:NAME`, or "" for the recipe itself."""
    en: str
    zh: str
    does: Callable[[], bool]


def codes(recipe: str, preset: str, facts: Facts | None = None, **changes: object) -> list[str]:
    return [
        f.code for f in checks.check(config(recipe, preset, changes), facts or Facts()).findings if f.severity != "note"
    ]


def options(recipe: str, preset: str, **changes: object) -> dict[str, tuple[str, ...]]:
    return command_of(config(recipe, preset, changes))[2]


def plain(recipe: str, preset: str, **changes: object) -> tuple[str, ...]:
    return command_of(config(recipe, preset, changes))[1]


OLD = {"--train_type", "--num_infer_workers", "--use_lmdeploy"}
POINTS = [
    Point("000: batch × processes must be a multiple, and that is all", "prl-grpo", "num_generations",
          "PRL's own script checks only that it is a multiple", "PRL 自带的脚本只检查整除",
          lambda: "num-generations-min" in codes("prl-grpo", "standard-4gpu", num_generations=1)
          or not checks.check(config("prl-grpo", "standard-4gpu", {"num_generations": 1})).ok),
    Point("000: nothing about evaluation", "prl-grpo", "per_device_eval_batch_size",
          "which PRL's own script does not check", "PRL 自带的脚本未检查",
          lambda: "eval-batch-divides" in codes("prl-grpo", "standard-4gpu", per_device_eval_batch_size=1, num_generations=8)),
    Point("000: accumulation never helps (true until 3.3)", "prl-grpo", "gradient_accumulation_steps",
          "it does not help num_generations to divide", "它不参与生成数的整除判断",
          lambda: "num-generations-divides" in codes("prl-grpo", "quick-test", gradient_accumulation_steps=2, num_generations=8)
          and "num-generations-divides" not in codes("swift-grpo", "colocate-4gpu", per_device_train_batch_size=1,
                                                     gradient_accumulation_steps=2, num_generations=8)),
    Point("000: num_infer_workers, use_lmdeploy", "swift-grpo", "vllm_mode",
          "it replaces the older num_infer_workers, and use_lmdeploy has no successor", "取代旧的 num_infer_workers",
          lambda: options("swift-grpo", "colocate-4gpu").keys().isdisjoint(OLD)
          and options("swift-grpo", "colocate-4gpu")["--vllm_mode"] == ("colocate",)),
    Point("000: train_type", "swift-grpo", "tuner_type", "before 4.0 it was called train_type", "4.0 之前叫 train_type",
          lambda: options("swift-grpo", "colocate-4gpu")["--tuner_type"] == ("lora",)),
    Point("000: the old flags on a new ms-swift", "prl-grpo", "num_infer_workers",
          "ms-swift 3.6 and later have no such flag", "ms-swift 3.6 起没有此参数",
          lambda: "engine-version" in codes("prl-grpo", "standard-4gpu", Facts(versions={"ms-swift": "4.6.0"}))
          and "engine-version" not in codes("prl-grpo", "standard-4gpu", Facts(versions={"ms-swift": "3.3.0.dev0"}))),
    Point("001: no device_map any more", "prl-grpo", "", "every rank spreads over its GPUs by device_map", "仍以 device_map 分布",
          lambda: "device_map" not in " ".join(options("prl-grpo", "standard-4gpu"))),
    Point("000: dataloader_num_workers 0 is a rule for several GPUs", "prl-grpo", "dataloader_num_workers",
          "a mismatch of TRL 0.17 and newer transformers", "并非 PRL 指南所说的多卡规则",
          lambda: options("prl-grpo", "standard-4gpu")["--dataloader_num_workers"] == ("0",)),
    Point("001: the 4-GPU script is verified", "prl-grpo", "preset:standard-4gpu",
          "the runs that its log names were on one GPU", "其日志所指的运行都是单卡",
          lambda: "single-gpu" in RECIPES["prl-grpo"].presets),
    Point("000: NUMBER_OF_SAMPLES as the data's size", "prl-grpo", "NUMBER_OF_SAMPLES", "It is not the size of the data",
          "它不是数据集大小", lambda: RECIPES["prl-grpo"].data.batch.evaluator == "NUMBER_OF_SAMPLES"),
    Point("002: export MASTER_PORT", "vlm-pretrain", "", "torchrun reads no MASTER_PORT", "torchrun 不读 MASTER_PORT",
          lambda: options("vlm-pretrain", "four-gpu")["--master_port"] == ("29500",)
          and "MASTER_PORT" not in command_of(config("vlm-pretrain", "four-gpu"))[0]),
    Point("002: python -m torch.distributed.launch", "vlm-pretrain", "launcher",
          "torch.distributed.launch fails", "torch.distributed.launch 会失败",
          lambda: plain("vlm-pretrain", "four-gpu")[0] == "torchrun"),
    Point("002: batch_size per GPU in its accumulation section", "vlm-sft", "batch_size",
          "calls it per GPU, which it is not", "并非如此",
          lambda: checks.check(config("vlm-sft", "two-gpu")).batch.per_device == 4),
    Point("002: its script", "vlm-pretrain", "preset:four-gpu", "always exits with 0; this command does not", "退出码总是 0",
          lambda: plain("vlm-pretrain", "four-gpu") == ("torchrun", "train_vlm.py")),
    Point("002: only rank 0 prints", "vlm-sft", "", "every rank prints, not only rank 0", "并非只有 rank 0",
          lambda: any("rank=" in anchor.pattern for anchor in RECIPES["vlm-sft"].data.outputs.anchors)),
    Point("002: a config file that is missing", "vlm-sft", "config", "silently uses its own defaults", "静默使用内置默认值",
          lambda: "file-missing" in codes("vlm-sft", "two-gpu", Facts(missing_files=("configs/vlm_sft.yaml",)))),
    Point("002: --stage sft", "vlm-sft", "stage", "the YAML's stage does", "YAML 中的 stage 才会",
          lambda: options("vlm-sft", "two-gpu", lr="2e-5", config_source="generate")["--lr"] == ("2e-5",)),
    Point("003: its wrapper and background mode", "reward-model", "preset:helpful-8gpu",
          "hides a failure behind tee, and its background mode starts nothing", "后台模式则什么也不启动",
          lambda: plain("reward-model", "helpful-8gpu")[0] == "torchrun"),
    Point("003: DDP exchanges gradients (reward models)", "reward-model", "config",
          "exchange of gradients between GPUs have no effect", "梯度同步均不生效",
          lambda: "gradients-apart" in codes("reward-model", "helpful-8gpu", config_source="generate")),
    Point("003: DDP exchanges gradients (policy)", "safe-mm-dpo", "", "Gradients are not exchanged between GPUs", "不同步梯度",
          lambda: "gradients-apart" in codes("safe-mm-dpo", "eight-gpu", config_source="generate")),
    Point("003: accumulation of the reward models", "reward-model", "gradient_accumulation_steps",
          "the program updates after every batch", "程序每个 batch 都更新",
          lambda: "accumulation-without-effect" in codes("reward-model", "helpful-8gpu", config_source="generate",
                                                         gradient_accumulation_steps=2)),
    Point("003: the values of its configs", "reward-model", "config_source", "not those of its guide", "而非指南",
          lambda: RECIPES["reward-model"].by_key["batch_size"].default == 4),
    Point("003: save_steps and eval_steps", "safe-mm-dpo", "config", "Its save_steps and eval_steps do nothing", "不起作用",
          lambda: "save_steps" not in RECIPES["safe-mm-dpo"].by_key),
    Point("004: device_map, WORLD_SIZE and LOCAL_RANK", "minionerec-sft", "",
          "torchrun sets WORLD_SIZE and LOCAL_RANK, not its script", "由 torchrun 而非脚本设置",
          lambda: command_of(config("minionerec-sft", "eight-gpu"))[0].keys().isdisjoint({"WORLD_SIZE", "LOCAL_RANK"})),
    Point("004: ReReTrainerGRPO", "minionerec-rl", "", "the program's own ReReTrainer", "程序自带的 ReReTrainer",
          lambda: plain("minionerec-rl", "eight-gpu") == ("accelerate", "launch", "rl.py")),
    Point("004: freeze_LLM", "minionerec-sft", "freeze_LLM", "the program stops with a NameError", "NameError",
          lambda: options("minionerec-sft", "eight-gpu")["--freeze_LLM"] == ("False",)),
    Point("004: its script's Industrial paths", "minionerec-sft", "sid_index_path", "keeps Industrial whatever the category",
          "写死为 Industrial",
          lambda: options("minionerec-sft", "eight-gpu", category="Books")["--sid_index_path"]
          == ("./data/Amazon/index/Books.index.json",)),
    Point("004: WANDB_MODE in RL", "minionerec-rl", "wandb_run_name", "whatever WANDB_MODE says", "与 WANDB_MODE 无关",
          lambda: "WANDB_MODE" not in RECIPES["minionerec-rl"].by_key),
    Point("004: the zero2 file", "minionerec-rl", "config_file", "the bucket sizes have no effect", "bucket 大小不生效",
          lambda: options("minionerec-rl", "four-gpu")["--config_file"] == ("prl-files/accelerate.yaml",)),
    Point("004: num_processes is in no config", "minionerec-rl", "nproc_per_node", "Always passed", "总会传递",
          lambda: options("minionerec-rl", "eight-gpu")["--num_processes"] == ("8",)),
]  # fmt: skip


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.recipe}-{point.says or 'recipe'}")
def test_a_point(point):
    recipe = RECIPES[point.recipe]
    if point.says.startswith("preset:"):
        help_ = recipe.presets[point.says.removeprefix("preset:")].help
    else:
        help_ = recipe.by_key[point.says].help if point.says else recipe.data.help
    assert point.en in help_.en, point.guide
    assert point.zh in help_.zh, point.guide
    assert point.does(), point.guide


def test_every_guide_has_its_points():
    assert {point.guide[:3] for point in POINTS} == {"000", "001", "002", "003", "004"}


REQUIRED = {
    "prl-grpo": ["datasets/original/mr_train.jsonl", "datasets/original/mr_val.jsonl", "datasets/original/mr_infer.jsonl",
                 "examples/train/grpo/prompt.txt"],
    "vlm-sft": ["train_vlm.py", "configs/vlm_sft.yaml"],
    "reward-model": ["src/training/train_rm.py", "configs/rm_config.yaml"],
    "safe-mm-dpo": ["src/training/train_safe_mm_dpo.py", "configs/dpo_config.yaml"],
    "minionerec-sft": ["sft.py", "./data/Amazon/index/Industrial_and_Scientific.index.json",
                       "./data/Amazon/index/Industrial_and_Scientific.item.json"],
    "minionerec-rl": ["rl.py", "./config/zero2_opt.yaml"],
    "custom": ["train.py"],
}  # fmt: skip


@pytest.mark.parametrize("recipe", REQUIRED)
def test_files_that_a_start_needs_are_looked_for(recipe, tmp_path):
    from prl_tui.machine import facts

    preset = RECIPES[recipe].data.default_preset
    missing = facts.look_up(config(recipe, preset), tmp_path).missing_files
    assert set(REQUIRED[recipe]) <= set(missing)
    for name in missing:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert facts.look_up(config(recipe, preset), tmp_path).missing_files == () or recipe in {
        "reward-model",
        "safe-mm-dpo",
    }


@pytest.mark.parametrize("key", ["DATASET", "NUMBER_OF_SAMPLES", "NUMBER_OF_PROMPTS", "ADVERSARIAL", "REASONING"])
def test_prls_five_variables_are_needed(key):
    found = checks.check(config("prl-grpo", "standard-4gpu", {key: ""}))
    assert [f.field for f in found.findings if f.severity == "error"] == [key]


def test_patterns_are_resolved_and_shown(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data/Amazon/train"
    folder.mkdir(parents=True)
    (folder / "Books_2016-11.csv").write_text("history,item\n1,2\n")
    words = ("check", "minionerec-sft/eight-gpu", "--set", "category=Books")
    found = cli(*words)
    assert "train_file: ./data/Amazon/train/Books*11.csv is ./data/Amazon/train/Books_2016-11.csv" in found.out
    assert found.code == 0
    (folder / "Books_2018-11.csv").write_text("")
    found = cli(*words)
    assert "train_file: ./data/Amazon/train/Books*11.csv matches 2 files, and one is needed." in found.out
    assert "take ./data/Amazon/train/Books_2018-11.csv" in found.out
    assert found.code == 1
    assert "eval_file: ./data/Amazon/valid/Books*11.csv matches 0 files" in cli(*words, "--here").out
