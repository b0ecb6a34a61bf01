"""The rules of `core` once more, in bash, so that a script with overridden values still refuses.

Every value has been matched against a plain decimal before any of this arithmetic sees it. A value that is not set
counts as what the program takes then; where that is not known, the rule is skipped, as in `core`. A property test
compares the verdicts (tests/export/test_bash_rules.py). Where `core` only warns that torch reads a GPU list in an odd
way, a script refuses it from the environment: nobody would read the warning. In the file itself it passed the check,
with that warning.
"""

from __future__ import annotations

import re

from prl_tui.core import advice, devices
from prl_tui.core.assess import RANKS, stack_of
from prl_tui.core.layout import LOOPBACK
from prl_tui.core.plan import LaunchPlan
from prl_tui.core.stacks import Stack
from prl_tui.export import bash_batch, bash_needs, bash_parts, bash_wandb
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t

VISIBLE = "cuda_visible_devices"


def rules(plan: LaunchPlan) -> list[str]:
    """The lines that check the plan's rules, on the variables that carry the fields."""
    stack = stack_of(plan.config)
    lines = _devices(plan, stack) if _counts_gpus(plan) else _count(plan) if bash_parts.key(plan, VISIBLE) else []
    return [
        *lines,
        *bash_batch.rules(plan, stack),
        *_nodes(plan),
        *_ranks(plan),
        *_program(plan),
        *bash_needs.rules(plan),
        *bash_wandb.rules(plan),
    ]


def _ranks(plan: LaunchPlan) -> list[str]:
    """Each process that a field names exists."""
    world = f"{bash_parts.number(plan, 'nproc_per_node', '0')} * {bash_parts.number(plan, 'nnodes', '1')}"
    lines = []
    for part in RANKS:
        if bash_parts.key(plan, part):
            told = t("{variable}=$named must be below the number of processes, $world: they count from 0.",
                     variable=bash_parts.override(plan, part))  # fmt: skip
            lines += [f"world=$(( {world} )) named={bash_parts.number(plan, part, '-1')}",
                      *bash_parts.refuse("(( world > 0 && named >= world ))", told)]  # fmt: skip
    return lines


def _program(plan: LaunchPlan) -> list[str]:
    """No launcher reads the script's name as an option; an empty variable sets nothing, so there is one."""
    script, _ = advice.started(plan.config)
    if not script:
        return []
    name = name_of(script)
    told = t("{name} would be read as an option; {better} would work.",
             name=f"{bash_parts.override(plan, script)}=${name}", better=f"./${name}")  # fmt: skip
    return bash_parts.refuse(f"[[ ${name} == -* ]]", told)


def _nodes(plan: LaunchPlan) -> list[str]:
    """The number of this node below their count, and an address that the others can reach."""
    if not {"nnodes", "node_rank", "master_addr"} <= plan.config.recipe.by_key.keys():
        return []
    address = bash_parts.var(plan, "master_addr")
    beyond = t(
        "{variable}=$rank must be below the number of nodes, $nodes: they count from 0.",
        variable=bash_parts.override(plan, "node_rank"),
    )
    told = t("warning: the other nodes cannot reach this address: ") + bash_parts.override(plan, "master_addr") + "="
    loopback = " | ".join(f"{start}*" for start in LOOPBACK if start != "[::1]")
    return [
        f"nodes={bash_parts.number(plan, 'nnodes', '1')} rank={bash_parts.number(plan, 'node_rank', '0')}",
        *bash_parts.refuse("(( rank >= nodes ))", beyond),
        "if (( nodes > 1 )); then",
        f"  case ${address} in '' | {loopback}) printf '%s\\n' {literal(told)}\"${address}\" >&2 ;; esac",
        "fi",
    ]


def functions(plan: LaunchPlan) -> list[str]:
    """The helper functions that `rules` calls, with their sentences."""
    lines = list(bash_batch.DIVISORS) if plan.config.recipe.data.batch.rule == "grpo" else []
    if bash_parts.key(plan, VISIBLE):
        gpus = bash_parts.override(plan, VISIBLE)
        word = _of_list(t("{variable}: a list such as 0,1 is needed, of indices or of UUIDs; not: ", variable=_NAME))
        twice = _of_list(t("{variable} names a GPU twice: ", variable=_NAME))
        for line in COUNT_GPUS:
            lines.append(line.replace("GPU_FIELD", gpus).replace("GPU_WORD", word).replace("GPU_TWICE", twice))
    if _counts_gpus(plan):
        kept = t("{name}=${name} is set here, and the job keeps it.", name=advice.VISIBLE)
        empty = t("{name} is set here and empty, so that no GPU is visible: unset it, or set {variable}.",
                  name=advice.VISIBLE, variable=bash_parts.override(plan, VISIBLE))  # fmt: skip
        lines += [line.replace("GPU_KEPT", kept).replace("GPU_EMPTY", empty) for line in KEEP_GPUS]
    return lines


_NAME = "NAME_OF_LIST"
"""Where a sentence names the variable, of which there are two."""


def _of_list(sentence: str) -> str:
    """A sentence about the list $1 of the variable $name, as a word of bash."""
    before, after = (literal(part) if part else "" for part in sentence.split(_NAME))
    return f'{before}"$name"{after}"$1"'


def _counts_gpus(plan: LaunchPlan) -> bool:
    recipe = plan.config.recipe
    return recipe.data.needs_gpu and {VISIBLE, "nproc_per_node"} <= recipe.by_key.keys()


def _devices(plan: LaunchPlan, stack: Stack) -> list[str]:
    processes = bash_parts.number(plan, "nproc_per_node", "0")
    told = t(
        "{gpus} or {processes}: each process needs a GPU; processes $processes, visible $visible.",
        gpus=bash_parts.override(plan, VISIBLE),
        processes=bash_parts.override(plan, "nproc_per_node"),
    )
    counted = [f"processes={processes}", *_count(plan)]
    rules = bash_parts.refuse("[[ -n $visible ]] && (( processes > visible ))", told)
    mode = []
    if "swift" in stack.name:
        rules += _rollout(plan, stack)
        mode = _mode(plan, stack)
    if plan.config.recipe.data.cpu:
        rules = [
            f"if ! {bash_parts.yes(plan, plan.config.recipe.data.cpu)}; then",
            *(f"  {rule}" for rule in rules),
            "fi",
        ]
    return [*counted, *rules, *mode]


def _count(plan: LaunchPlan) -> list[str]:
    """How many GPUs the list names. What torch reads otherwise than written passed the check: it stands as it is."""
    variable, spec = bash_parts.var(plan, VISIBLE), plan.config.text(VISIBLE)
    recipe, cases = plan.config.recipe.data, []
    if not recipe.needs_gpu or recipe.cpu:  # a run on the CPU may hide every GPU
        on_cpu = f" && {bash_parts.yes(plan, recipe.cpu)}" if recipe.needs_gpu else ""
        cases.append((f"[[ ${variable} == {devices.HIDES} ]]{on_cpu}", "visible=0"))
    if _counts_gpus(plan):
        needed = f" && ! {bash_parts.yes(plan, recipe.cpu)}" if recipe.cpu else ""
        cases.append((f"[[ -z ${variable} && -n ${{{advice.VISIBLE}+set}} ]]{needed}", "keep_gpus"))
    if spec and spec != devices.HIDES and not _PLAIN_LIST.fullmatch(spec):
        cases.append((f"[[ ${variable} == {literal(spec)} ]]", f"visible={devices.read(spec).count}"))
    if not cases:
        return [f'count_gpus "${variable}"']
    lines = [f"{'elif' if at else 'if'} {test}; then {then}" for at, (test, then) in enumerate(cases)]
    return [*lines, f'else count_gpus "${variable}"; fi']


def _rollout(plan: LaunchPlan, stack: Stack) -> list[str]:
    """Who generates, and what follows for the GPUs. Source: ms-swift's grpo_trainer.py and its argument checks."""
    vllm, lmdeploy = bash_parts.yes(plan, "use_vllm"), bash_parts.yes(plan, "use_lmdeploy")
    processes = bash_parts.override(plan, "nproc_per_node")
    known = "[[ -n $visible ]] && (( processes > 0 ))"
    lines = [f"rollout=false; if {vllm} || {lmdeploy}; then rollout=true; fi"]
    if stack.infer_workers and bash_parts.key(plan, "num_infer_workers"):
        told = t(
            "{variable}=$workers: at most one generation worker for each process; processes $processes.",
            variable=bash_parts.override(plan, "num_infer_workers"),
        )
        lines.append(f"workers={bash_parts.number(plan, 'num_infer_workers', '0')}")
        lines += bash_parts.refuse("[[ $rollout == true ]] && (( processes > 0 && workers > processes ))", told)
        lines += _placement(plan)
    if stack.vllm_needs_one_each and plan.config.recipe.data.batch.rule == "grpo":
        told = t(
            "{processes}: vLLM needs as many visible GPUs ($visible) as processes ($processes).", processes=processes
        )
        lines += bash_parts.refuse(f"{vllm} && {known} && (( visible != processes ))", told)
    told = t(
        "{processes}: visible GPUs ($visible) cannot be shared out evenly among the processes ($processes).",
        processes=processes,
    )
    lines += bash_parts.refuse(f"[[ $rollout == false ]] && {known} && (( visible % processes != 0 ))", told)
    if bash_parts.key(plan, "deepspeed"):
        told = t("{processes}: DeepSpeed needs as many processes as visible GPUs ($visible).", processes=processes)
        test = f"[[ $rollout == false && -n ${bash_parts.var(plan, 'deepspeed')} ]] && {known} && (( visible > processes ))"
        lines += bash_parts.refuse(test, told)
    if bash_parts.key(plan, "vllm_tensor_parallel_size") and not stack.infer_workers:  # workers have rules of their own
        lines += _tensor_parallel(plan, vllm)
    return lines


def _tensor_parallel(plan: LaunchPlan, vllm: str) -> list[str]:
    """The ranks that share one engine; `vllm` is the test for engines in the job. Source: ms-swift 4.6's rollout_mixin.py."""
    variable, mode = bash_parts.override(plan, "vllm_tensor_parallel_size"), bash_parts.var(plan, "vllm_mode")
    own = f" && [[ ${mode} != server ]]" if mode else ""
    told = t("{variable}=$tensor: the number of processes, $world, is not a multiple of it.", variable=variable)
    return [
        f"world=$(( processes * {bash_parts.number(plan, 'nnodes', '1')} ))",
        f"tensor={bash_parts.number(plan, 'vllm_tensor_parallel_size', '1')}",
        *bash_parts.refuse(f"{vllm}{own} && (( world > 0 && tensor > 1 && world % tensor != 0 ))", told),
    ]


def _placement(plan: LaunchPlan) -> list[str]:
    """What of ms-swift 3.2 to 3.4 needs generation workers on GPUs of their own, or on all of them."""
    known = "[[ $rollout == true && -n $visible ]] && (( processes > 0 && workers > 0 ))"
    lines = []
    if bash_parts.key(plan, "async_generate"):
        told = t(
            "{variable}: the generation workers need GPUs of their own; $visible visible.",
            variable=bash_parts.override(plan, "async_generate"),
        )
        lines += bash_parts.refuse(
            f"{bash_parts.yes(plan, 'async_generate')} && {known} && (( processes + workers > visible ))", told
        )
    if bash_parts.key(plan, "tensor_parallel_size"):
        told = t(
            "{variable}: needs as many processes and generation workers as visible GPUs ($visible), and more than one.",
            variable=bash_parts.override(plan, "tensor_parallel_size"),
        )
        shared = "processes > 1 && workers == processes && visible == processes"
        split = f"(( {bash_parts.number(plan, 'tensor_parallel_size', '1')} > 1 && ! ({shared}) ))"
        lines += bash_parts.refuse(f"{known} && {split}", told)
    return lines


def _mode(plan: LaunchPlan, stack: Stack) -> list[str]:
    """use_vllm and vllm_mode go together. Source: ms-swift's rlhf arguments, 3.11.1 and later."""
    mode = bash_parts.var(plan, "vllm_mode")
    if not (stack.vllm_mode and mode and bash_parts.key(plan, "use_vllm")):
        return []
    variable, use = bash_parts.override(plan, "vllm_mode"), bash_parts.override(plan, "use_vllm")
    without = t("{variable} is set and {use} is not true: set {use}=true.", variable=variable, use=use)
    missing = t("{use}=true needs {variable}.", variable=variable, use=use)
    return [
        *bash_parts.refuse(f"[[ -n ${mode} ]] && ! {bash_parts.yes(plan, 'use_vllm')}", without),
        *bash_parts.refuse(f"[[ -z ${mode} ]] && {bash_parts.yes(plan, 'use_vllm')}", missing),
    ]


_PLAIN_LIST = re.compile(r"(?:0|[1-9][0-9]{0,3})(?:,(?:0|[1-9][0-9]{0,3}))*", re.ASCII)
"""A list that `count_gpus` takes; UUIDs are odd here and counted the same."""
COUNT_GPUS = [
    "count_gpus() { # LIST [NAME]: sets visible to how many GPUs a list names; empty where that is not known",
    "  local item items seen=, name=${2:-GPU_FIELD} kind='^ *(0|[123456789][0123456789]{0,3}) *$'",
    '  case $1 in GPU-* | MIG-*) kind="^${1:0:4}[[:alnum:]/-]+\\$" ;; esac',
    "  visible=",
    "  if [[ -z $1 ]]; then",
    "    if ! command -v nvidia-smi >/dev/null; then return 0; fi",
    "    mapfile -t items < <(nvidia-smi -L)",
    "    visible=0",
    '    for item in ${items[@]+"${items[@]}"}; do',
    "      if [[ $item == 'GPU '* ]]; then visible=$(( visible + 1 )); fi",
    "    done",
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
    "  if [[ $1 == MIG-* ]]; then visible=1; fi # all that CUDA gives a process",
    "}",
]
KEEP_GPUS = [
    "keep_gpus() { # the list around the job, which sets none of its own",
    '  if [[ -z $CUDA_VISIBLE_DEVICES ]]; then fail "GPU_EMPTY"; fi',
    '  visible "GPU_KEPT"; printf \'%s\\n\' "$shown"',
    '  count_gpus "$CUDA_VISIBLE_DEVICES" CUDA_VISIBLE_DEVICES',
    "}",
]
