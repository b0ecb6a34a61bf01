"""The batch and GPU rules of `core` once more, in bash, so that a script with overridden values still refuses.

Every value has been matched against a plain decimal before any of this arithmetic sees it. A property test
compares these verdicts with those of `core` (tests/export/test_bash_rules.py).
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
    lines = _devices(plan, stack) if recipe.data.needs_gpu else []
    return lines + (maker(plan, stack) if maker else [])


def _var(plan: LaunchPlan, part: str) -> str:
    """The bash variable behind a part, or "" where the recipe has no such field."""
    key = plan.config.recipe.part(part)
    return name_of(key) if key in plan.config.recipe.by_key else ""


def _fail(sentence: str) -> str:
    return f"fail {sentence}"


def _devices(plan: LaunchPlan, stack: Stack) -> list[str]:
    processes, gpus = _var(plan, "nproc_per_node"), _var(plan, "cuda_visible_devices")
    told = t(
        "PRL_CUDA_VISIBLE_DEVICES or PRL_NPROC_PER_NODE: $processes processes need as many GPUs, and $visible are visible."
    )
    lines = [
        f'count_gpus "${gpus}"',
        f"if [[ -n $visible ]] && (( {processes} > visible )); then",
        f"  processes=${processes}",
        f'  fail "{told}"',
        "fi",
    ]
    workers, vllm, lmdeploy = (_var(plan, part) for part in ("num_infer_workers", "use_vllm", "use_lmdeploy"))
    if stack.infer_workers and workers:
        told = t("PRL_NUM_INFER_WORKERS=$workers: at most one generation worker for each of the $processes processes.")
        lines += [
            f"if [[ ${vllm} == true || ${lmdeploy or vllm} == true ]] && (( {workers} > {processes} )); then",
            f"  workers=${workers} processes=${processes}",
            f'  fail "{told}"',
            "fi",
        ]
    return lines


def _grpo(plan: LaunchPlan, stack: Stack) -> list[str]:
    processes, each, answers = (
        _var(plan, part) for part in ("nproc_per_node", "per_device_train_batch_size", "num_generations")
    )
    nodes = _var(plan, "nnodes")
    steps, accumulation = _var(plan, "steps_per_generation"), _var(plan, "gradient_accumulation_steps")
    factor = ""
    lines = [f"world=$(( {processes} * {nodes} ))" if nodes else f"world=${processes}"]
    if stack.accumulation_counts and accumulation:
        lines.append(f"repeat=${{{steps}:-${accumulation}}}" if steps else f"repeat=${accumulation}")
        factor = " * repeat"
    lines.append(f"generation_batch=$(( {each} * world{factor} ))")
    told = t("PRL_NUM_GENERATIONS=$generations does not divide the generation batch $generation_batch; valid: $valid.")
    lines += [
        f"generations=${answers}",
        "if (( generation_batch % generations != 0 )); then",
        '  valid=$(divisors "$generation_batch")',
        f'  fail "{told}"',
        "fi",
    ]
    evaluation = _var(plan, "per_device_eval_batch_size")
    switch = _var(plan, "eval_strategy")
    if evaluation and switch:
        told = t(
            "PRL_PER_DEVICE_EVAL_BATCH_SIZE=$each_eval: the evaluation batch $eval_batch is not a multiple of $generations generations."
        )
        lines += [
            f"each_eval=${evaluation} eval_batch=$(( {evaluation} * world ))",
            f"if [[ -n ${switch} && ${switch} != no ]] && (( eval_batch % generations != 0 )); then",
            f'  fail "{told}"',
            "fi",
        ]
    return lines


def _global(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    processes, nodes, each, total = (
        _var(plan, part) for part in ("nproc_per_node", "nnodes", "per_device_train_batch_size", "global_batch_size")
    )
    told = t("PRL_GLOBAL_BATCH_SIZE=$batch is not a multiple of per-device batch × processes = $step.")
    return [
        f"step=$(( {each} * {processes} * {nodes} )) batch=${total}",
        "if (( batch % step != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


FUNCTIONS = {
    "divisors": [
        "divisors() { # the divisors of $1, from 2",
        "  local number found=()",
        "  for (( number = 2; number <= $1; number++ )); do",
        '    (( $1 % number )) || found+=("$number")',
        "  done",
        "  printf '%s' \"${found[*]}\"",
        "}",
    ],
    "count_gpus": [
        "count_gpus() { # sets visible: how many GPUs the list $1 names; empty where that is not known",
        "  local item items seen=,",
        "  visible=",
        "  if [[ -z $1 ]]; then",
        "    if command -v nvidia-smi >/dev/null; then visible=$(nvidia-smi -L | grep -c '^GPU ' || true); fi",
        "    return 0",
        "  fi",
        '  IFS=, read -r -a items <<<"$1,"',
        '  for item in "${items[@]}"; do',
        "    item=${item//[[:blank:]]/}",
        "    if [[ ! $item =~ ^(0|[123456789][0123456789]{0,3}|(GPU|MIG)-[[:alnum:]/-]+)$ ]]; then",
        "      fail " + '"$_gpu_word"',
        "    fi",
        '    case $seen in *,"$item",*) fail ' + '"$_gpu_twice"' + " ;; esac",
        "    seen+=$item,",
        "    visible=$(( visible + 1 ))",
        "  done",
        "}",
    ],
}


def functions(plan: LaunchPlan) -> list[str]:
    """The helper functions that `rules` calls, with their sentences."""
    lines = list(FUNCTIONS["divisors"]) if plan.config.recipe.data.batch.rule == "grpo" else []
    if plan.config.recipe.data.needs_gpu:
        word = literal(
            t("PRL_CUDA_VISIBLE_DEVICES: a list such as 0,1 is needed; this is neither an index nor a UUID: ")
        )
        twice = literal(t("PRL_CUDA_VISIBLE_DEVICES names a GPU twice: "))
        for line in FUNCTIONS["count_gpus"]:
            lines.append(line.replace('"$_gpu_word"', f'{word}"$item"').replace('"$_gpu_twice"', f'{twice}"$item"'))
    return lines
