"""What the judges of ms-swift 3 and 4 have in common: the words of `swift rlhf` for a case, and the way to a verdict."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from common import Case, Verdict, failure
from tiny import make_rows

FLAGS = {
    "bs": "--per_device_train_batch_size",
    "ga": "--gradient_accumulation_steps",
    "ng": "--num_generations",
    "eval": "--eval_strategy",
    "ebs": "--per_device_eval_batch_size",
    "spg": "--steps_per_generation",
    "gbs": "--generation_batch_size",
    "epochs": "--num_train_epochs",
    "ni": "--num_iterations",
}
FIXED = shlex.split(
    "--rlhf_type grpo --model_type qwen2 --template qwen2_5 --use_hf true --check_model false --torch_dtype float32 "
    "--reward_funcs tiny_length --use_vllm false --use_cpu true --max_length 256 "
    "--max_completion_length 16 --learning_rate 1e-4 --dataloader_num_workers 0 --report_to none --add_version false"
)
TRAIN_ROWS = 64


class Judge:
    """ms-swift in this process; a subclass names its classes in `meet` and makes the trainer in `build`."""

    flags = FLAGS
    fixed: tuple[str, ...] = ()
    """Words that this generation of ms-swift needs beside FIXED."""
    parse: Any
    arguments: Any

    def __init__(self, work: Path) -> None:
        import logging

        self.work = work
        self.meet()
        logging.disable(logging.WARNING)

    def meet(self) -> None:
        """Import ms-swift's own parser and classes."""
        raise NotImplementedError

    def build(self, args: Any, case: Case) -> Any:
        """The trainer, as SwiftSft.run builds it."""
        raise NotImplementedError

    def argv(self, case: Case) -> list[str]:
        """The arguments of `swift rlhf` for this case."""
        data, rows, val = self.work / "data", case.get("rows", TRAIN_ROWS), case.get("val")
        made = [*FIXED, *self.fixed, "--model", str(self.work / "tiny")]
        made += ["--external_plugins", str(self.work / "plugin.py"), "--output_dir", str(self.work / "out")]
        made += ["--dataset", str(make_rows(data / f"{rows}.jsonl", rows))]
        if val:
            made += ["--val_dataset", str(make_rows(data / f"val{val}.jsonl", val))]
        if case["world"] > 1:
            made += ["--ddp_backend", "gloo"]
        for key, flag in self.flags.items():
            if case.get(key) is not None:
                made += [flag, str(case[key])]
        return made

    def verdict(self, case: Case) -> Verdict:
        """Accepted, or who refused and how; only the argument stage where the case asks for no more."""
        stage = "arguments"
        try:
            args, rest = self.parse(self.arguments, self.argv(case))
            if rest:
                raise ValueError(f"remaining_argv: {rest}")
            if case.get("build", True):
                stage = "trainer"
                trainer = self.build(args, case)
                stage = "dataloader"
                trainer.get_train_dataloader()
        except (Exception, SystemExit) as error:
            return failure(stage, error)
        return {"accepted": True, "stage": "", "exception": "", "text": ""}
