"""The batch and GPU rules of `core` once more, in bash, so that a script with overridden values still refuses.

Every value has been matched against a plain decimal before any of this arithmetic sees it, and a rule whose value
is not set is skipped, as in `core`. A property test compares the verdicts (tests/export/test_bash_rules.py). Where
`core` only warns that torch reads a GPU list in an odd way, a script refuses: nobody would read the warning.
"""

from __future__ import annotations

from prl_tui.core.assess import stack_of
from prl_tui.core.plan import LaunchPlan
from prl_tui.core.stacks import Stack
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t


def rules(plan: LaunchPlan) -> list[str]:
    """The lines that check the plan's rules, on the variables that carry the fields."""
    recipe = plan.config.recipe
    stack = stack_of(plan.config)
    maker = {"grpo": _grpo, "global": _global}.get(recipe.data.batch.rule)
    lines = _devices(plan, stack) if _counts_gpus(plan) else []
    return lines + (maker(plan, stack) if maker else [])


def functions(plan: LaunchPlan) -> list[str]:
    """The helper functions that `rules` calls, with their sentences."""
    lines = list(DIVISORS) if plan.config.recipe.data.batch.rule == "grpo" else []
    if _counts_gpus(plan):
        gpus = _override(plan, "cuda_visible_devices")
        word = literal(t("{variable}: a list such as 0,1 is needed, of indices or of UUIDs; not: ", variable=gpus))
        twice = literal(t("{variable} names a GPU twice: ", variable=gpus))
        for line in COUNT_GPUS:
            lines.append(line.replace("GPU_WORD", f'{word}"$1"').replace("GPU_TWICE", f'{twice}"$1"'))
    return lines


def _counts_gpus(plan: LaunchPlan) -> bool:
    recipe = plan.config.recipe
    return recipe.data.needs_gpu and {"cuda_visible_devices", "nproc_per_node"} <= recipe.by_key.keys()


def _key(plan: LaunchPlan, part: str) -> str:
    key = plan.config.recipe.part(part)
    return key if key in plan.config.recipe.by_key else ""


def _var(plan: LaunchPlan, part: str) -> str:
    """The bash variable behind a part, or "" where the recipe has no such field."""
    key = _key(plan, part)
    return name_of(key) if key else ""


def _override(plan: LaunchPlan, part: str) -> str:
    """The environment variable that a person sets for a part."""
    return plan.config.recipe.by_key[plan.config.recipe.part(part)].override


def _number(plan: LaunchPlan, part: str, otherwise: str) -> str:
    """A part's value in arithmetic; `otherwise` where it is not set or does not exist."""
    name = _var(plan, part)
    return f"${{{name}:-{otherwise}}}" if name else otherwise


def _devices(plan: LaunchPlan, stack: Stack) -> list[str]:
    processes = _number(plan, "nproc_per_node", "0")
    told = t(
        "{gpus} or {processes}: $processes processes need as many GPUs, and $visible are visible.",
        gpus=_override(plan, "cuda_visible_devices"),
        processes=_override(plan, "nproc_per_node"),
    )
    lines = [
        f"processes={processes}",
        f'count_gpus "${_var(plan, "cuda_visible_devices")}"',
        "if [[ -n $visible ]] && (( processes > visible )); then",
        f'  fail "{told}"',
        "fi",
    ]
    if "swift" not in stack.name:
        return lines
    return [*lines, *_rollout(plan, stack)]


def _rollout(plan: LaunchPlan, stack: Stack) -> list[str]:
    """Who generates, and what follows for the GPUs. Source: ms-swift's grpo_trainer.py and its argument checks."""
    lines = ["rollout=false"]
    for part in ("use_vllm", "use_lmdeploy"):
        key = _key(plan, part)
        if key:
            yes = literal(plan.config.recipe.by_key[key].words[0])
            lines.append(f"if [[ ${name_of(key)} == {yes} ]]; then rollout=true; fi")
    if stack.infer_workers and _key(plan, "num_infer_workers"):
        told = t(
            "{variable}=$workers: at most one generation worker for each of the $processes processes.",
            variable=_override(plan, "num_infer_workers"),
        )
        lines += [
            f"workers={_number(plan, 'num_infer_workers', '0')}",
            "if [[ $rollout == true ]] && (( processes > 0 && workers > processes )); then",
            f'  fail "{told}"',
            "fi",
        ]
    told = t(
        "{processes}: $visible visible GPUs cannot be shared out evenly among $processes processes.",
        processes=_override(plan, "nproc_per_node"),
    )
    return [
        *lines,
        "if [[ $rollout == false && -n $visible ]] && (( processes > 0 && visible % processes != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


def _grpo(plan: LaunchPlan, stack: Stack) -> list[str]:
    if not (_key(plan, "num_generations") and _key(plan, "per_device_train_batch_size")):
        return []
    factor = ""
    lines = [f"world=$(( {_number(plan, 'nproc_per_node', '0')} * {_number(plan, 'nnodes', '1')} ))"]
    if stack.accumulation_counts:
        default = _DEFAULT_ACCUMULATION.format(each=_number(plan, "per_device_train_batch_size", "1"))
        accumulation = _number(plan, "gradient_accumulation_steps", default if stack.default_accumulation else "1")
        lines.append(f"repeat={_number(plan, 'steps_per_generation', accumulation)}")
        factor = " * repeat"
    told = t(
        "{variable}=$generations does not divide the generation batch $generation_batch; valid: $valid.",
        variable=_override(plan, "num_generations"),
    )
    lines += [
        f"generation_batch=$(( {_number(plan, 'per_device_train_batch_size', '0')} * world{factor} ))",
        f"generations={_number(plan, 'num_generations', '0')}",
        "if (( generations > 0 && generation_batch % generations != 0 )); then",
        '  valid=$(divisors "$generation_batch")',
        f'  fail "{told}"',
        "fi",
    ]
    return lines + _evaluation(plan)


def _evaluation(plan: LaunchPlan) -> list[str]:
    if not _key(plan, "per_device_eval_batch_size"):
        return []
    told = t(
        "{variable}=$each_eval: the evaluation batch $eval_batch is not a multiple of $generations generations.",
        variable=_override(plan, "per_device_eval_batch_size"),
    )
    return [
        *_evaluates(plan),
        f"each_eval={_number(plan, 'per_device_eval_batch_size', '0')}",
        "eval_batch=$(( each_eval * world ))",
        "if [[ $evaluates == true ]] && (( generations > 0 && eval_batch % generations != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


def _evaluates(plan: LaunchPlan) -> list[str]:
    """Whether the trainer will evaluate, as `core.assess` sees it."""
    strategy = _var(plan, "eval_strategy")
    data = [name for name in (_var(plan, "val_dataset"), _var(plan, "split_dataset_ratio")) if name]
    lines = ["evaluates=false"]
    for name in data or ([strategy] if strategy else []):
        lines.append(f'case ${name} in "" | no | none | 0 | 0.0) ;; *) evaluates=true ;; esac')
    if strategy and data:
        lines.append(f"case ${strategy} in no | none) evaluates=false ;; esac")
    return lines


def _global(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    if not (_key(plan, "global_batch_size") and _key(plan, "per_device_train_batch_size")):
        return []
    each = _number(plan, "per_device_train_batch_size", "0")
    world = f"{_number(plan, 'nproc_per_node', '0')} * {_number(plan, 'nnodes', '1')}"
    told = t(
        "{variable}=$batch is not a multiple of per-device batch × processes = $step.",
        variable=_override(plan, "global_batch_size"),
    )
    return [
        f"step=$(( {each} * {world} ))",
        f"batch={_number(plan, 'global_batch_size', '0')}",
        "if (( step > 0 && batch % step != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


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

COUNT_GPUS = [
    "count_gpus() { # sets visible: how many GPUs the list $1 names; empty where that is not known",
    "  local item items seen=, kind='^ *(0|[123456789][0123456789]{0,3}) *$'",
    '  case $1 in GPU-* | MIG-*) kind="^${1:0:4}[[:alnum:]/-]+\\$" ;; esac',
    "  visible=",
    "  if [[ -z $1 ]]; then",
    "    if command -v nvidia-smi >/dev/null; then visible=$(nvidia-smi -L | grep -c '^GPU ' || true); fi",
    "    return 0",
    "  fi",
    "  if [[ $1 == *[[:cntrl:]]* ]]; then fail GPU_WORD; fi",
    '  IFS=, read -r -a items <<<"$1,"',
    '  for item in "${items[@]}"; do',
    "    if [[ ! $item =~ $kind ]]; then fail GPU_WORD; fi",
    "    item=${item// /}",
    '    case $seen in *,"$item",*) fail GPU_TWICE ;; esac',
    "    seen+=$item,",
    "    visible=$(( visible + 1 ))",
    "  done",
    "}",
]
