"""From which version of ms-swift to which each flag is known, and what says the same in the others.

Sources: the argument classes of ms-swift 3.3.0, 3.5.3 and 4.6.0 (tests/fixtures/flags) and its releases.
"""

from __future__ import annotations

from prl_tui.core.recipe import Recipe
from prl_tui.core.value import Value
from prl_tui.core.versions import release


class Life(Value):
    """From which version to which a flag is known."""

    since: str = ""
    """The first version that knows it; "" for all before `until`."""
    until: str = ""
    """The first version that does not know it any more; "" for none."""
    other: str = ""
    """The flag that says it in the other versions."""

    def knows(self, version: str) -> bool:
        """Whether that version takes the flag."""
        at = release(version)
        return (not self.since or at >= release(self.since)) and (not self.until or at < release(self.until))

    def lacking(self, first: str, past: str) -> str:
        """The first version from `first` on and before `past` ("": the newest) that does not take it; "" where all do."""
        if not self.knows(first):
            return first
        return self.until if self.until and (not past or release(self.until) < release(past)) else ""

    def known_between(self, first: str, past: str) -> bool:
        """Whether any version from `first` on and before `past` ("": the newest) takes it."""
        return self.knows(first) or bool(self.since and release(self.since) >= release(first)
                                         and (not past or release(self.since) < release(past)))  # fmt: skip


LIVES: dict[str, Life] = {
    "--sft_type": Life(until="3.0", other="--train_type"),
    "--train_type": Life(since="3.0", until="4.1", other="--tuner_type"),
    "--tuner_type": Life(since="4.0", other="--train_type"),
    "--use_lmdeploy": Life(until="3.5"),
    "--num_infer_workers": Life(until="3.6", other="--vllm_mode"),
    "--vllm_device": Life(until="3.6", other="--vllm_mode"),
    "--tensor_parallel_size": Life(until="3.6", other="--vllm_tensor_parallel_size"),
    "--vllm_tensor_parallel_size": Life(since="3.5", other="--tensor_parallel_size"),
    "--vllm_mode": Life(since="3.5", other="--num_infer_workers"),
    "--vllm_server_host": Life(since="3.4"),
    "--vllm_server_port": Life(since="3.4"),
    "--vllm_server_base_url": Life(since="3.5"),
    "--steps_per_generation": Life(since="3.5"),
    "--generation_batch_size": Life(since="3.5"),
    "--center_rewards_coefficient": Life(since="3.5"),
    "--num_generations_eval": Life(since="3.12"),
    "--gc_collect_after_offload": Life(until="3.12"),
}
"""Flag → the versions that know it. A flag that is not here is not judged."""
ALIKE = {("--train_type", "--tuner_type"), ("--tuner_type", "--train_type"),
         ("--tensor_parallel_size", "--vllm_tensor_parallel_size")}  # fmt: skip
"""Pairs whose values mean the same, so that one can take the other's."""

WITHOUT = {
    "--sft_type": "lora", "--train_type": "lora", "--tuner_type": "lora", "--use_lmdeploy": "false",
    "--tensor_parallel_size": "1", "--vllm_tensor_parallel_size": "1", "--gc_collect_after_offload": "false",
}  # fmt: skip
"""What an ms-swift that does not know the flag does, as a value of it. Source: the argument classes of 3.0 to 4.6, where it is
the default of the other name; LMDeploy and the collection are gone."""


def key_of(recipe: Recipe, name: str) -> str:
    """The field that says what a flag of other versions said: `tuner_type` for `train_type`; "" for none."""
    flag, met = f"--{name.removeprefix('--').replace('-', '_')}", set[str]()
    while (life := LIVES.get(flag)) is not None and flag not in met:
        met.add(flag)
        key = next((field.key for field in recipe.fields if field.flag == life.other and life.other), "")
        if key:
            return key
        flag = life.other
    return ""
