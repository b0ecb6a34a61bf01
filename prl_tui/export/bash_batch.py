"""The batch rules of `core.batch` in bash: each reads the variables of its fields and refuses what the trainer would.

A batch that the trainer rounds down is told, as `core` warns of it, and the script goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from prl_tui.core.plan import LaunchPlan
from prl_tui.core.stacks import Stack
from prl_tui.export import bash_parts
from prl_tui.i18n import t


def rules(plan: LaunchPlan, stack: Stack) -> list[str]:
    """The lines for the recipe's batch rule; none where it has none."""
    maker = _MAKERS.get(plan.config.recipe.data.batch.rule)
    return [*(maker(plan, stack) if maker else ()), *_sequence_parallel(plan)]


def _world(plan: LaunchPlan) -> str:
    """The line that counts the processes of all nodes."""
    return f"world=$(( {bash_parts.number(plan, 'nproc_per_node', '0')} * {bash_parts.number(plan, 'nnodes', '1')} ))"


def _sequence_parallel(plan: LaunchPlan) -> list[str]:
    """As many processes as share a sequence; none may be left over. Source: ms-swift 4.6's device mesh."""
    if not bash_parts.key(plan, "sequence_parallel_size"):
        return []
    told = t(
        "{variable}=$sequence does not divide the number of processes, $world.",
        variable=bash_parts.override(plan, "sequence_parallel_size"),
    )
    return [
        _world(plan),
        f"sequence={bash_parts.number(plan, 'sequence_parallel_size', '1')}",
        *bash_parts.refuse("(( world > 0 && sequence > 1 && world % sequence != 0 ))", told),
    ]


def _grpo(plan: LaunchPlan, stack: Stack) -> list[str]:
    if not (bash_parts.key(plan, "num_generations") and bash_parts.key(plan, "per_device_train_batch_size")):
        return []
    factor = ""
    lines = [_world(plan)]
    if stack.accumulation_counts:
        default = _DEFAULT_ACCUMULATION.format(each=bash_parts.number(plan, "per_device_train_batch_size", "1"))
        accumulation = bash_parts.number(
            plan, "gradient_accumulation_steps", default if stack.default_accumulation else "1"
        )
        lines.append(f"repeat={bash_parts.number(plan, 'steps_per_generation', accumulation)}")
        factor = " * repeat"
    told = t(
        "{variable}=$generations does not divide the generation batch $generation_batch; valid: $valid.",
        variable=bash_parts.override(plan, "num_generations"),
    )
    too_small = t(
        "{variable}: a generation batch of $generation_batch is too small for 2 generations; raise it.",
        variable=bash_parts.override(plan, "per_device_train_batch_size"),
    )
    lines.append(f"step=$(( {bash_parts.number(plan, 'per_device_train_batch_size', '0')} * world ))")
    lines.append(f"generation_batch=$(( step{factor} ))")
    if stack.accumulation_counts:
        lines += _generation_batch(plan, stack)
    lines.append(f"generations={bash_parts.number(plan, 'num_generations', '0')}")
    lines += [
        "if (( generations > 0 && generation_batch % generations != 0 )); then",
        '  valid=$(divisors "$generation_batch")',
        f'  if [[ -z $valid ]]; then fail "{too_small}"; fi',
        f'  fail "{told}"',
        "fi",
    ]
    return lines + _evaluation(plan, stack)


def _generation_batch(plan: LaunchPlan, stack: Stack) -> list[str]:
    """A generation batch that is given, beside the steps that may be given too."""
    given, steps = bash_parts.var(plan, "generation_batch_size"), bash_parts.var(plan, "steps_per_generation")
    if not given:
        return []
    variable = bash_parts.override(plan, "generation_batch_size")
    told = t(
        "{variable}=$generation_batch is not a multiple of per-device batch × processes = $step.", variable=variable
    )
    lines = [f"product=$generation_batch; if [[ -n ${given} ]]; then generation_batch=${given}; fi"]
    lines += bash_parts.refuse("(( step > 0 && generation_batch % step != 0 ))", told)
    if steps:
        both = f"[[ -n ${given} && -n ${steps} ]]"
        agree = "" if stack.both_given == "error" else " && (( generation_batch != product ))"
        told = t(
            "{variable}=$generation_batch does not go with {steps}; set one of them.",
            variable=variable,
            steps=bash_parts.override(plan, "steps_per_generation"),
        )
        lines += bash_parts.refuse(f"{both}{agree}", told)
    return lines


def _evaluation(plan: LaunchPlan, stack: Stack) -> list[str]:
    if not bash_parts.key(plan, "per_device_eval_batch_size"):
        return []
    own = bash_parts.number(plan, "num_generations_eval", "0") if stack.generations_eval else "0"
    told = t(
        "{variable}=$each_eval: the evaluation batch $eval_batch is not a multiple of $generations generations.",
        variable=bash_parts.override(plan, "per_device_eval_batch_size"),
    )
    return [
        *_evaluates(plan, stack),
        f"each_eval={bash_parts.number(plan, 'per_device_eval_batch_size', '0')}",
        "eval_batch=$(( each_eval * world ))",
        *([f"if (( {own} > 0 )); then generations={own}; fi"] if own != "0" else []),
        "if [[ $evaluates == true ]] && (( generations > 0 && eval_batch % generations != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


def _evaluates(plan: LaunchPlan, stack: Stack) -> list[str]:
    """Whether the trainer will evaluate, as `core.assess` sees it."""
    strategy, files, ratio = (
        bash_parts.var(plan, part) for part in ("eval_strategy", "val_dataset", "split_dataset_ratio")
    )
    lines = [f"evaluates={'true' if stack.eval_without_data else 'false'}"]
    if files:
        lines.append(f"if [[ -n ${{{files}-}} ]]; then evaluates=true; fi")
    if ratio:
        lines.append(f"if [[ ${{{ratio}%%[eE]*}} == *[123456789]* ]]; then evaluates=true; fi")
    if stack.default_split:
        unset = " && ".join(f"-z ${{{name}-}}" for name in (files, ratio) if name) or "-n true"
        lines.append(f"if [[ {unset} ]]; then evaluates=true; fi")
    if strategy and not (files or ratio):
        lines.append(f'case ${strategy} in "" | no | none) ;; *) evaluates=true ;; esac')
    if strategy:
        lines.append(f"case ${strategy} in no | none) evaluates=false ;; esac")
    return lines


def _global(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    if not (bash_parts.key(plan, "global_batch_size") and bash_parts.key(plan, "per_device_train_batch_size")):
        return []
    each = bash_parts.number(plan, "per_device_train_batch_size", "0")
    world = f"{bash_parts.number(plan, 'nproc_per_node', '0')} * {bash_parts.number(plan, 'nnodes', '1')}"
    told = t(
        "{variable}=$batch is not a multiple of per-device batch × processes = $step.",
        variable=bash_parts.override(plan, "global_batch_size"),
    )
    return [
        f"step=$(( {each} * {world} ))",
        f"batch={bash_parts.number(plan, 'global_batch_size', '0')}",
        "if (( step > 0 && batch % step != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


def _total(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    """A total batch that is divided by the processes: each of them needs a sample."""
    if not bash_parts.key(plan, "batch_size"):
        return []
    told = t(
        "{variable}=$batch on $world processes leaves 0 samples for each.",
        variable=bash_parts.override(plan, "batch_size"),
    )
    rounded = t(
        "warning: {variable}=$batch is rounded down to $real: $each on each of $world processes.",
        variable=bash_parts.override(plan, "batch_size"),
    )
    return [
        f"batch={bash_parts.number(plan, 'batch_size', '0')}",
        _world(plan),
        *bash_parts.refuse("(( batch > 0 && world > 0 && batch / world < 1 ))", told),
        "each=$(( world > 0 ? batch / world : 0 )) real=$(( world > 0 ? batch / world * world : batch ))",
        *bash_parts.warn("(( each > 0 && real != batch ))", rounded),
    ]


def _minionerec_sft(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    if not (bash_parts.key(plan, "batch_size") and bash_parts.key(plan, "micro_batch_size")):
        return []
    world = f"{bash_parts.number(plan, 'nproc_per_node', '0')} * {bash_parts.number(plan, 'nnodes', '1')}"
    told = t(
        "{variable}=$batch: $batch // $micro // $world is 0 accumulation steps; at least 1 is needed.",
        variable=bash_parts.override(plan, "batch_size"),
    )
    rounded = t(
        "warning: {variable}=$batch is rounded down to $real: $micro × $steps × $world.",
        variable=bash_parts.override(plan, "batch_size"),
    )
    return [
        f"batch={bash_parts.number(plan, 'batch_size', '0')}",
        f"micro={bash_parts.number(plan, 'micro_batch_size', '0')}",
        f"world=$(( {world} ))",
        *bash_parts.refuse("(( batch > 0 && micro > 0 && world > 0 && batch / micro / world < 1 ))", told),
        "steps=$(( micro > 0 && world > 0 ? batch / micro / world : 0 ))",
        "real=$(( micro * steps * world ))",
        *bash_parts.warn("(( steps > 0 && real != batch ))", rounded),
    ]


_MAKERS: dict[str, Callable[[LaunchPlan, Stack], list[str]]] = {
    "grpo": _grpo,
    "global": _global,
    "minionerec-sft": _minionerec_sft,
    "total": _total,
}

_DEFAULT_ACCUMULATION = "$(( world > 0 ? (15 + {each} * world) / ({each} * world) : 1 ))"
"""As many micro-batches as make 16 samples, rounded up."""

DIVISORS = [
    "divisors() { # the divisors of $1 from 2 to 1024",
    "  local number found=()",
    "  for (( number = 2; number <= $1 && number <= 1024; number++ )); do",
    '    (( $1 % number )) || found+=("$number")',
    "  done",
    "  printf '%s' \"${found[*]-}\"",
    "}",
]
