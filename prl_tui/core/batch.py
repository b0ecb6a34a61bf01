"""The batch arithmetic, one rule for each kind of trainer.

Counts are samples (GRPO: completions). A rule gives the numbers, the formula in figures, and what it violates;
the sentences for people are made in `checks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from math import ceil
from typing import Literal, NamedTuple

from prl_tui.core.stacks import Stack
from prl_tui.core.value import Value, replace

Severity = Literal["error", "warning", "note"]


class Violation(NamedTuple):
    """One broken rule: a code, the field part it belongs to, and the figures of the sentence."""

    code: str
    part: str
    figures: tuple[tuple[str, object], ...] = ()
    severity: Severity = "error"


def broken(code: str, part: str, severity: Severity = "error", /, **figures: object) -> Violation:
    """A violation with its figures by name."""
    return Violation(code, part, tuple(figures.items()), severity)


class Numbers(Value):
    """The figures that a rule works on; None is a value that is not set or cannot be read."""

    nproc: int | None = None
    nnodes: int = 1
    per_device: int | None = None
    accumulation: int | None = None
    generations: int | None = None
    generations_eval: int | None = None
    steps_per_generation: int | None = None
    generation_batch: int | None = None
    eval_on: bool = False
    per_device_eval: int | None = None
    total: int | None = None
    """A batch size that is given for all processes together."""
    micro: int | None = None
    sequence_parallel: int = 1
    rows: int | None = None
    """Rows of training data; None where nobody counted them."""
    val_rows: int | None = None
    """Rows of validation data; None where nobody counted them."""


class Batch(Value):
    """What the numbers come to."""

    rule: str
    written: tuple[str, ...] | tuple[()] = ()
    """A template of the formula and its figures; `formula` puts them together."""
    figures: tuple[object, ...] = ()
    world: int | None = None
    """Training processes over all nodes."""
    per_device: int | None = None
    accumulation: int | None = None
    global_batch: int | None = None
    """Samples per optimizer step over all processes, accumulation included."""
    generation_batch: int | None = None
    """What num_generations must divide."""
    prompts_per_step: float | None = None
    """Different prompts in one optimizer step."""
    eval_batch: int | None = None
    violations: tuple[Violation, ...] = ()

    @property
    def formula(self) -> str:
        """The arithmetic in figures: `4 × 4 = 16`."""
        return " ".join(part.format(*map(times, self.figures)) for part in self.written)

    @property
    def valid_generations(self) -> tuple[int, ...]:
        """Every number of generations that divides the generation batch, at least 2."""
        batch = self.generation_batch
        return divisors(batch) if batch is not None and batch > 0 else ()


def times(value: object) -> object:
    """A tuple of factors as `4 × 2`; anything else as it is."""
    return " × ".join(map(str, value)) if isinstance(value, tuple) else value


def divisors(number: int, least: int = 2) -> tuple[int, ...]:
    """The divisors of a number that are at least `least`, in order."""
    small = [n for n in range(1, min(int(number**0.5), 100_000) + 1) if number % n == 0]
    every = sorted({*small, *(number // n for n in small)})
    return tuple(n for n in every if n >= least)


def work_out(rule: str, stack: Stack, numbers: Numbers) -> Batch:
    """The batch under a rule. A number that is missing leaves its results None and violates nothing."""
    found = RULES.get(rule, _none)(stack, numbers)
    each, world = numbers.sequence_parallel, found.world
    if world is None or each < 1 or world % each == 0:
        return found
    wrong = broken("sequence-parallel-divides", "sequence_parallel_size", value=each, world=world)
    return replace(found, violations=(*found.violations, wrong))


def _none(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    return Batch("none", world=_world(n), per_device=n.per_device, accumulation=n.accumulation)


def _world(n: Numbers) -> int | None:
    return None if n.nproc is None else n.nproc * n.nnodes


def _product(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    """DDP and the HF Trainer: per-device × processes × accumulation. Source: transformers TrainingArguments."""
    world, accumulation = _world(n), n.accumulation or 1
    if world is None or n.per_device is None:
        return Batch("product", world=world, per_device=n.per_device, accumulation=accumulation)
    ranks = max(1, world // n.sequence_parallel)
    factors = (n.per_device, ranks, accumulation) if accumulation != 1 else (n.per_device, ranks)
    total = n.per_device * ranks * accumulation
    return Batch("product", ("{} = {}",), (factors, total), world, n.per_device, accumulation, total)


def _global(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    """A global batch that is given: accumulation = global ÷ (per-device × processes). Source: Megatron, demo."""
    world = _world(n)
    if world is None or n.per_device is None or n.total is None or min(world, n.per_device, n.total) < 1:
        return Batch("global", world=world, per_device=n.per_device, global_batch=n.total)
    each, step = (n.per_device, world), n.per_device * world
    if n.total % step:
        wrong = broken("global-batch-divides", "global_batch_size", batch=n.total, step=step, product=each)
        figures = (n.total, each, n.total / step)
        return Batch(
            "global", ("{} ÷ ({}) = {:.2f}",), figures, world, n.per_device, None, n.total, violations=(wrong,)
        )
    accumulation = n.total // step
    return Batch("global", ("{} = {}",), ((*each, accumulation), n.total), world, n.per_device, accumulation, n.total)


def _total(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    """The VLM trainer: the given batch is divided by the processes, rounded down. Source: AnyLLM-to-VLM.

    Its vlm_trainer.py at 11a3a25 updates where `(step + 1) % accumulation_steps == 0`, with a step that starts at 0 in each epoch.
    """
    world, accumulation = _world(n), n.accumulation or 1
    if world is None or n.total is None or world < 1:
        return Batch("total", world=world, accumulation=accumulation)
    each = n.total // world
    real = each * world * accumulation
    wrong: list[Violation] = []
    if each < 1:
        wrong.append(broken("total-batch-too-small", "batch_size", batch=n.total, world=world))
    elif n.total % world:
        wrong.append(broken("total-batch-rounds-down", "batch_size", "warning",
                            batch=n.total, world=world, each=each, real=real))  # fmt: skip
    wrong += _no_update(n, world, each, accumulation)
    written, figures = ("{0} ÷ {1} = {2};", "{3} = {4}"), (n.total, world, each, (each, world, accumulation), real)
    return Batch("total", written, figures, world, each, accumulation, real, violations=tuple(wrong))


def batches(rows: int, world: int, each: int) -> int:
    """Batches of `each` rows that a process gets in one pass, the last one filled up or short (torch's DistributedSampler)."""
    return ceil(ceil(rows / world) / each)


RESTARTS = frozenset({"total", "mmdpo-dpo"})
"""Rules of programs whose accumulation starts anew with each epoch: a rest of it is no update."""


def _no_update(n: Numbers, world: int, each: int, accumulation: int) -> Iterator[Violation]:
    """An epoch is shorter than the accumulation, which starts anew with each: nothing is ever updated."""
    if n.rows is None or min(world, each, n.rows) < 1:
        return
    made = batches(n.rows, world, each)
    if made < accumulation:
        yield broken("no-update", "gradient_accumulation_steps", each=made, steps=accumulation)


def _minionerec_sft(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    """MiniOneRec SFT: accumulation = batch // micro // processes, two floors. Source: its sft.py."""
    world = _world(n)
    if not world or n.total is None or not n.micro:
        return Batch("minionerec-sft", world=world, per_device=n.micro)
    accumulation = n.total // n.micro // world
    factors = (n.micro, accumulation, world)
    real = n.micro * accumulation * world
    wrong: tuple[Violation, ...] = ()
    if accumulation < 1:
        wrong = (broken("accumulation-zero", "batch_size", batch=n.total, micro=n.micro, world=world),)
    elif real != n.total:
        wrong = (broken("batch-rounds-down", "batch_size", "warning", batch=n.total, product=factors, real=real),)
    written, figures = ("{0} // {1} // {2} = {3};", "{4} = {5}"), (n.total, n.micro, world, accumulation, factors, real)
    return Batch("minionerec-sft", written, figures, world, n.micro, accumulation, real, violations=wrong)


def _mmdpo_rm(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    """mmdpo-alignment's reward models: an update after every batch, whatever the accumulation says.

    Source: its train_rm.py at 69d65ca and 227104e: optimizer.step() stands outside the accumulation's `if`, and the forward
    pass goes through `model.module`, around DDP.
    """
    world = _world(n)
    if world is None or n.per_device is None:
        return Batch("mmdpo-rm", world=world, per_device=n.per_device, accumulation=1)
    real, said = n.per_device * world, n.per_device * (n.accumulation or 1) * world
    wrong = []
    if said != real:
        wrong.append(broken("accumulation-without-effect", "gradient_accumulation_steps", "warning",
                            given=n.accumulation, said=said, real=real))  # fmt: skip
    wrong += _apart(world, n.per_device)
    return Batch("mmdpo-rm", ("{} = {}",), ((n.per_device, world), real), world, n.per_device, 1, real,
                 violations=tuple(wrong))  # fmt: skip


def _mmdpo_dpo(stack: Stack, n: Numbers) -> Batch:
    """mmdpo-alignment's Safe-MM-DPO: per-GPU batch × accumulation × processes, as it prints.

    Source: its train_safe_mm_dpo.py at 0e00049; the policy's forward pass goes through `model.module`, around DDP.
    """
    found = _product(stack, n)
    if found.world is None or n.per_device is None:
        return replace(found, rule="mmdpo-dpo")
    accumulation, wrong = n.accumulation or 1, _apart(found.world, n.per_device * (n.accumulation or 1))
    wrong += _no_update(n, found.world, n.per_device, accumulation)
    return replace(found, rule="mmdpo-dpo", violations=tuple(wrong))


def _apart(world: int, each: int) -> list[Violation]:
    """Several processes that exchange no gradients train as many models, of which rank 0's is saved."""
    return [broken("gradients-apart", "nproc_per_node", "warning", world=world, each=each)] if world > 1 else []


def _deepspeed(stack: Stack, n: Numbers) -> Batch:  # noqa: ARG001
    """DeepSpeed's triple: train_batch_size = micro × accumulation × world. Source: DeepSpeed 0.19's config."""
    world, accumulation = _world(n), n.accumulation or 1
    if world is None or n.total is None or n.micro is None:
        return Batch("deepspeed", world=world, per_device=n.micro, accumulation=accumulation)
    factors, real = (n.micro, accumulation, world), n.micro * accumulation * world
    wrong: tuple[Violation, ...] = ()
    if real != n.total:
        wrong = (broken("deepspeed-triple", "batch_size", batch=n.total, product=factors, real=real),)
    return Batch("deepspeed", ("{} = {}",), (factors, real), world, n.micro, accumulation, real, violations=wrong)


def _grpo(stack: Stack, n: Numbers) -> Batch:
    """GRPO: the generation batch must be a multiple of the generations. Source: TRL, ms-swift, by stack."""
    accumulation, world = n.accumulation or 1, _world(n)
    if world is None or n.per_device is None:
        return Batch("grpo", world=world, per_device=n.per_device, accumulation=accumulation)
    step = n.per_device * world
    wrong: list[Violation] = []
    factors: tuple[int, ...] = (n.per_device, world)
    generation = step
    if stack.accumulation_counts:
        repeat = _steps_per_generation(stack, n, step, accumulation, wrong)
        factors = (*factors, repeat) if repeat != 1 else factors
        generation = n.generation_batch if n.generation_batch is not None else step * repeat
    agrees = generation == math.prod(factors)
    _generations(n, generation, factors if agrees else "generation_batch_size", wrong)
    if stack.accumulation_counts:
        _rows(n, generation, wrong)
    eval_batch = n.per_device_eval * world if n.per_device_eval is not None else None
    if n.eval_on and eval_batch is not None:
        _evaluation(stack, n, eval_batch, world, wrong)
    written = ("{0} = {1}",) if n.generation_batch is None else ("{1}",)
    per_step = step * accumulation / n.generations if n.generations else None
    return Batch("grpo", written, (factors, generation), world, n.per_device, accumulation, step * accumulation,
                 generation, per_step, eval_batch, tuple(wrong))  # fmt: skip


def _steps_per_generation(stack: Stack, n: Numbers, step: int, accumulation: int, wrong: list[Violation]) -> int:
    """How many micro-steps share one generation; adds what is wrong with the two fields that can say so."""
    repeat = n.steps_per_generation if n.steps_per_generation is not None else accumulation
    if n.steps_per_generation is not None and n.steps_per_generation < 1:
        wrong.append(broken("steps-per-generation-positive", "steps_per_generation", value=n.steps_per_generation))
        repeat = 1
    given = n.generation_batch
    if given is None:
        return repeat
    if given < 1 or step < 1 or given % step:
        wrong.append(broken("generation-batch-divides", "generation_batch_size", batch=given, step=step))
    if n.steps_per_generation is not None:
        if stack.both_given == "error":
            wrong.append(broken("generation-batch-and-steps", "generation_batch_size"))
        elif given != step * repeat:
            wrong.append(broken("generation-batch-agrees", "generation_batch_size", batch=given, product=step * repeat))
    return given // step if step and given % step == 0 else repeat


def _generations(n: Numbers, generation: int, factors: tuple[int, ...] | str, wrong: list[Violation]) -> None:
    if n.generations is None:
        return
    if n.generations < 2:
        wrong.append(broken("num-generations-min", "num_generations", value=n.generations))
    elif generation < 1 or generation % n.generations:
        figures = {"batch": generation, "generations": n.generations, "product": factors}
        wrong.append(broken("num-generations-divides", "num_generations", **figures))


def _rows(n: Numbers, generation: int, wrong: list[Violation]) -> None:
    """Not one generation batch: ms-swift 4.6 then stops with a sentence about max_steps."""
    if n.rows is None or not n.generations or n.generations < 1 or generation < 1:
        return
    prompts = generation // n.generations
    if n.rows < prompts:
        wrong.append(broken("too-few-rows", "per_device_train_batch_size", rows=n.rows, prompts=prompts))


def _evaluation(stack: Stack, n: Numbers, eval_batch: int, world: int, wrong: list[Violation]) -> None:
    generations, part = n.generations, "num_generations"
    if stack.generations_eval and n.generations_eval:
        generations, part = n.generations_eval, "num_generations_eval"
    if generations is None or generations < 1 or (part == "num_generations" and generations < 2):
        return
    if eval_batch < 1 or eval_batch % generations:
        figures = {"batch": eval_batch, "generations": generations, "product": (n.per_device_eval, world)}
        wrong.append(broken("eval-batch-divides", "per_device_eval_batch_size", **figures))
    elif stack.eval_rows_rule and n.val_rows is not None and n.val_rows < eval_batch // generations:
        least = eval_batch // generations
        wrong.append(broken("eval-rows", "per_device_eval_batch_size", rows=n.val_rows, least=least))


RULES: dict[str, Callable[[Stack, Numbers], Batch]] = {
    "grpo": _grpo,
    "product": _product,
    "global": _global,
    "total": _total,
    "minionerec-sft": _minionerec_sft,
    "mmdpo-rm": _mmdpo_rm,
    "mmdpo-dpo": _mmdpo_dpo,
    "deepspeed": _deepspeed,
    "none": _none,
}
