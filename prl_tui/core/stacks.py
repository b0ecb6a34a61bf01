"""Which generation of the engine is installed, and what follows from it: the batch rule and the GPU rules.

Sources: the engines' own sources at the versions named; judged by their own classes (tests/judges).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from prl_tui.core.value import Value
from prl_tui.core.versions import release
from prl_tui.i18n import mark, t
from prl_tui.lists import listed

if TYPE_CHECKING:
    from prl_tui.core.config import RunConfig

BothGiven = Literal["absent", "error", "agree"]


class Stack(Value):
    """One generation of an engine, as far as its checks differ from another's."""

    name: str
    title: str
    accumulation_counts: bool
    """steps_per_generation, by default the accumulation, is part of the generation batch."""
    both_given: BothGiven = "absent"
    """generation_batch_size together with steps_per_generation: unknown flags, refused, or must agree."""
    generations_eval: bool = False
    """num_generations_eval exists and is what the evaluation batch must divide by."""
    infer_workers: bool = False
    """num_infer_workers decides where vLLM runs (ms-swift 3.2 to 3.4)."""
    vllm_needs_one_each: bool = False
    """GRPO with vLLM needs as many visible GPUs as processes (ms-swift 3.6 and later)."""
    default_accumulation: bool = False
    """An accumulation that is not given becomes as many micro-batches as make 16 samples (ms-swift before 3.7)."""
    vllm_mode: bool = False
    """vllm_mode exists and is needed with use_vllm (ms-swift 3.11.1 and later)."""
    eval_without_data: bool = False
    """The evaluation rule holds by eval_strategy alone, whether there is validation data or not."""
    default_split: bool = False
    """Without validation data a hundredth of the training data is split off, unless the ratio is 0 (before 3.6)."""
    eval_rows_rule: bool = False
    """The validation set must fill one evaluation batch (ms-swift 3.6 and later)."""

    @property
    def said(self) -> str:
        """The title in the language in force."""
        return t(_SAID[self.title]) if self.title in _SAID else self.title


_SAID = {
    "ms-swift 3.3 (PRL's fork)": mark("ms-swift 3.3 (PRL's fork)"),
    "ms-swift 4.4 and later": mark("ms-swift 4.4 and later"),
    "TRL 0.27 and later": mark("TRL 0.27 and later"),
    "MiniOneRec RL (the rule of TRL 0.15)": mark("MiniOneRec RL (the rule of TRL 0.15)"),
}
"""Titles that have words in them, for the catalogue."""


STACKS: dict[str, Stack] = {
    stack.name: stack
    for stack in (
        Stack("swift-3.3-prl", "ms-swift 3.3 (PRL's fork)", False, infer_workers=True, default_accumulation=True,
              default_split=True),
        Stack("swift-3.4", "ms-swift 3.4", True, infer_workers=True, default_accumulation=True, default_split=True),
        Stack("swift-3.5", "ms-swift 3.5", True, "error", default_accumulation=True, eval_without_data=True,
              default_split=True),
        Stack("swift-3.6", "ms-swift 3.6", True, "error", vllm_needs_one_each=True, eval_rows_rule=True,
              default_accumulation=True),
        Stack("swift-3.7", "ms-swift 3.7–3.11", True, "error", vllm_needs_one_each=True, eval_rows_rule=True),
        Stack("swift-3.12", "ms-swift 3.12–4.3", True, "error", generations_eval=True, vllm_needs_one_each=True,
              eval_rows_rule=True, vllm_mode=True),
        Stack("swift-4.4", "ms-swift 4.4 and later", True, "agree", generations_eval=True, vllm_needs_one_each=True,
              eval_rows_rule=True, vllm_mode=True),
        Stack("trl-0.15", "TRL 0.15–0.16", False),
        Stack("trl-0.17", "TRL 0.17", True),
        Stack("trl-0.18", "TRL 0.18–0.26", True, "error"),
        Stack("trl-0.27", "TRL 0.27 and later", True, "error", generations_eval=True),
        Stack("minionerec-rl", "MiniOneRec RL (the rule of TRL 0.15)", False),
        Stack("hf-trainer", "transformers Trainer", True),
        Stack("deepspeed", "DeepSpeed", True),
        Stack("ddp", "PyTorch DDP", True),
    )
}  # fmt: skip
"""Every generation whose rules are known."""


def find(name: str) -> Stack:
    """The stack of that name; plain DDP for a name that is not known."""
    return STACKS.get(name, STACKS["ddp"])


def of(config: RunConfig, override: str = "", probed: str = "") -> Stack:
    """The stack whose rules hold: what the person picks, else the environment's, else the recipe's own."""
    chosen = config.value("stack") if "stack" in config.settings else None
    return find(override or chosen or probed or config.recipe.data.stack)


def for_swift(version: str) -> str:
    """The stack of an installed ms-swift, by its version text such as `4.6.0` or `3.3.0.dev0`."""
    return _for("swift", version)


def for_trl(version: str) -> str:
    """The stack of an installed TRL, by its version text such as `0.24.0`."""
    return _for("trl", version)


def swift_span(name: str) -> tuple[str, str] | None:
    """From which version of ms-swift to which (not included, "" for the newest) a stack stands; None for other engines."""
    firsts = [(_first(one), one) for one in STACKS if one.startswith("swift-")]
    own = next((first for first, one in firsts if one == name), None)
    if own is None:
        return None
    later = [first for first, _ in firsts if release(first) > release(own)]
    return own, min(later, key=release, default="")


def _first(name: str) -> str:
    return name.split("-")[1]


def near(name: str) -> str:
    """The stack that a mistyped one means: by its version where it has one (`swift-4.6`), else by its spelling; or ""."""
    found = _VERSIONED.fullmatch(name.strip().lower())
    if found:
        return _for(found[1], found[2])
    from prl_tui.core.config import nearest

    return nearest(name, list(STACKS)) or ""


def unknown(name: str) -> str:
    """One sentence without its full stop: there is no such stack, and the one that is meant, or all that there are."""
    from prl_tui.core.values import cut

    if meant := near(name):
        return t("there is no stack named {name}; {near} would work", name=cut(name), near=meant)
    return t("there is no stack named {name}; there are {known}", name=cut(name), known=listed(STACKS))


_VERSIONED = re.compile(r"(?:ms-?)?(swift|trl)[-=_ ]*v?([0-9]{1,4}(?:\.[0-9]{1,4})*)(?:[^0-9].*)?", re.ASCII)
_ANY = 1 << 30
"""Stands for the second number of a version that has only one: `swift-4` means the latest of them."""


def _for(engine: str, version: str) -> str:
    """The latest generation of an engine that is not after a version; its first for an older one, its last for none."""
    known = sorted(
        ((int(found[1]), int(found[2])), name)
        for name in STACKS
        if (found := re.match(rf"{engine}-(\d+)\.(\d+)", name))
    )
    found = re.match(r"(\d+)(?:\.(\d+))?", version)
    at = (int(found[1]), int(found[2] or _ANY)) if found else (_ANY, 0)
    return max((one for one in known if one[0] <= at), default=known[0])[1]
