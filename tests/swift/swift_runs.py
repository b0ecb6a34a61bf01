"""Launches a recipe on the tiny model through the installed `prl-tui`, and says how it went."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from prl_tui.machine import paths
from prl_tui.runs import overview, store
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from tests.conftest import installed_script

DATA = {"swift-sft": "sft", "swift-dpo": "dpo", "swift-rm": "dpo", "swift-grpo": "grpo"}
COMMON = {
    "use_cpu": "true", "ddp_backend": "gloo", "nproc_per_node": "2", "model_type": "qwen2", "template": "qwen2_5",
    "use_hf": "true", "check_model": "false", "torch_dtype": "float32", "max_length": "256", "max_steps": "4",
    "eval_steps": "2", "save_steps": "2", "logging_steps": "1", "split_dataset_ratio": "0.125", "eval_strategy": "steps",
    "dataset_num_proc": "1", "dataloader_num_workers": "0", "gradient_accumulation_steps": "1",
}  # fmt: skip
GRPO = {
    "use_vllm": "false", "num_generations": "2", "per_device_train_batch_size": "2", "max_completion_length": "16",
    "reward_funcs": "format tiny_length",
}  # fmt: skip
RACE = "terminate called without an active exception"
"""Now and then (once in 25 runs) a gloo thread of torch 2.13 dies so while Python goes down, after a good training."""


@dataclass
class Ended:
    """How a launched run ended."""

    code: int
    """What `watch --plain` returned."""
    told: str
    """What it printed."""
    run: Overview


class Bench:
    """One test's runs."""

    def __init__(self, python: Path, tiny: Path, here: Path) -> None:
        self.python, self.tiny, self.here = python, tiny, here

    def options(self, recipe: str, **changes: str) -> list[str]:
        """--set words for a run of the recipe on the CPU."""
        values = {**COMMON, **(GRPO if recipe == "swift-grpo" else {})}
        values |= {"training_env": str(self.python.parent.parent), "model": str(self.tiny / "tiny")}
        values |= {"dataset": str(self.tiny / "data" / f"{DATA[recipe]}.jsonl"), "output_dir": str(self.here / "out")}
        if recipe == "swift-grpo":
            values["external_plugins"] = str(self.tiny / "plugin.py")
        values |= changes
        words = ["--unset", "cuda_visible_devices"]
        if recipe == "swift-grpo":
            words += ["--unset", "vllm_mode"]
        return [*words, *(word for key, value in values.items() for word in ("--set", f"{key}={value}"))]

    def prl(self, *words: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """`prl-tui` with these words, in a process of its own."""
        return subprocess.run(
            [*installed_script(), *words], cwd=self.here, capture_output=True, text=True, timeout=timeout
        )

    def run(self, recipe: str, *words: str, **changes: str) -> Ended:
        """Launch, watch to the end. A run that the race hits is run again: it is torch's, not ours."""
        for _ in range(3):
            ended = self._once(recipe, *words, **changes)
            if ended.code == 0 or not self._raced(ended.run.folder):
                break
        return ended

    def _once(self, recipe: str, *words: str, **changes: str) -> Ended:
        probe = [] if recipe == "swift-grpo" else ["--no-probe"]  # once is enough: it costs another import of ms-swift
        launched = self.prl("launch", recipe, "--detach", "--json", *probe, *words, *self.options(recipe, **changes))
        assert launched.returncode == 0, launched.stderr
        name = json.loads(launched.stdout)["id"]
        watched = self.prl("watch", name, "--plain")
        folder = store.find(paths.runs_dir(), name)
        assert isinstance(folder, RunFolder)
        return Ended(watched.returncode, watched.stdout, overview.overview(folder))

    @staticmethod
    def _raced(folder: RunFolder) -> bool:
        return any(log.read_text(errors="replace").rstrip().endswith(RACE) for log in folder.ranks.rglob("stderr.log"))
