"""The batch and GPU rules of `core` once more, in bash, so that a script with overridden values still refuses.

Every value has been matched against a plain decimal before any of this arithmetic sees it. A value that is not set
counts as what the program takes then; where that is not known, the rule is skipped, as in `core`. A property test
compares the verdicts (tests/export/test_bash_rules.py). Where `core` only warns that torch reads a GPU list in an odd
way, a script refuses it from the environment: nobody would read the warning. In the file itself it passed the check,
with that warning.
"""

from __future__ import annotations

import re

from prl_tui.core import devices
from prl_tui.core.assess import RANKS, stack_of
from prl_tui.core.layout import LOOPBACK
from prl_tui.core.plan import LaunchPlan
from prl_tui.core.stacks import Stack
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t

VISIBLE = "cuda_visible_devices"


def rules(plan: LaunchPlan) -> list[str]:
    """The lines that check the plan's rules, on the variables that carry the fields."""
    recipe = plan.config.recipe
    stack = stack_of(plan.config)
    maker = {"grpo": _grpo, "global": _global, "minionerec-sft": _minionerec_sft, "total": _total}.get(
        recipe.data.batch.rule
    )
    lines = _devices(plan, stack) if _counts_gpus(plan) else _count(plan) if _key(plan, VISIBLE) else []
    return lines + (maker(plan, stack) if maker else []) + _nodes(plan) + _ranks(plan)


def _ranks(plan: LaunchPlan) -> list[str]:
    """Each process that a field names exists."""
    world = f"{_number(plan, 'nproc_per_node', '0')} * {_number(plan, 'nnodes', '1')}"
    lines = []
    for part in RANKS:
        if _key(plan, part):
            told = t("{variable}=$named must be below the number of processes, $world: they count from 0.",
                     variable=_override(plan, part))  # fmt: skip
            lines += [f"world=$(( {world} )) named={_number(plan, part, '-1')}",
                      *_refuse("(( world > 0 && named >= world ))", told)]  # fmt: skip
    return lines


def _nodes(plan: LaunchPlan) -> list[str]:
    """The number of this node below their count, and an address that the others can reach."""
    if not {"nnodes", "node_rank", "master_addr"} <= plan.config.recipe.by_key.keys():
        return []
    address = _var(plan, "master_addr")
    beyond = t(
        "{variable}=$rank must be below the number of nodes, $nodes: they count from 0.",
        variable=_override(plan, "node_rank"),
    )
    told = t("warning: the other nodes cannot reach this address: ") + _override(plan, "master_addr") + "="
    loopback = " | ".join(f"{start}*" for start in LOOPBACK if start != "[::1]")
    return [
        f"nodes={_number(plan, 'nnodes', '1')} rank={_number(plan, 'node_rank', '0')}",
        *_refuse("(( rank >= nodes ))", beyond),
        "if (( nodes > 1 )); then",
        f"  case ${address} in '' | {loopback}) printf '%s\\n' {literal(told)}\"${address}\" >&2 ;; esac",
        "fi",
    ]


def functions(plan: LaunchPlan) -> list[str]:
    """The helper functions that `rules` calls, with their sentences."""
    lines = list(DIVISORS) if plan.config.recipe.data.batch.rule == "grpo" else []
    if _key(plan, VISIBLE):
        gpus = _override(plan, VISIBLE)
        word = literal(t("{variable}: a list such as 0,1 is needed, of indices or of UUIDs; not: ", variable=gpus))
        twice = literal(t("{variable} names a GPU twice: ", variable=gpus))
        for line in COUNT_GPUS:
            lines.append(line.replace("GPU_WORD", f'{word}"$1"').replace("GPU_TWICE", f'{twice}"$1"'))
    return lines


def _counts_gpus(plan: LaunchPlan) -> bool:
    recipe = plan.config.recipe
    return recipe.data.needs_gpu and {VISIBLE, "nproc_per_node"} <= recipe.by_key.keys()


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
    """A part's value in arithmetic; where it is not set the program's own, else `otherwise`."""
    name = _var(plan, part)
    unset = plan.config.recipe.by_key[_key(plan, part)].unset if name else None
    otherwise = otherwise if unset is None else str(unset)
    return f"${{{name}:-{otherwise}}}" if name else otherwise


def _devices(plan: LaunchPlan, stack: Stack) -> list[str]:
    processes = _number(plan, "nproc_per_node", "0")
    told = t(
        "{gpus} or {processes}: each process needs a GPU; processes $processes, visible $visible.",
        gpus=_override(plan, VISIBLE),
        processes=_override(plan, "nproc_per_node"),
    )
    counted = [f"processes={processes}", *_count(plan)]
    rules = _refuse("[[ -n $visible ]] && (( processes > visible ))", told)
    mode = []
    if "swift" in stack.name:
        rules += _rollout(plan, stack)
        mode = _mode(plan, stack)
    if plan.config.recipe.data.cpu:
        rules = [f"if ! {_yes(plan, plan.config.recipe.data.cpu)}; then", *(f"  {rule}" for rule in rules), "fi"]
    return [*counted, *rules, *mode]


def _count(plan: LaunchPlan) -> list[str]:
    """How many GPUs the list names. What torch reads otherwise than written passed the check: it stands as it is."""
    variable, spec = _var(plan, VISIBLE), plan.config.text(VISIBLE)
    counted = f'count_gpus "${variable}"'
    recipe, hidden = plan.config.recipe.data, f"[[ ${variable} == {devices.HIDES} ]]"
    if not recipe.needs_gpu or recipe.cpu:  # a run on the CPU may hide every GPU
        on_cpu = f" && {_yes(plan, recipe.cpu)}" if recipe.needs_gpu else ""
        counted = f"if {hidden}{on_cpu}; then visible=0; else {counted}; fi"
    if not spec or spec == devices.HIDES or _PLAIN_LIST.fullmatch(spec):
        return [counted]
    visible = devices.read(spec).count
    return [f"if [[ ${variable} == {literal(spec)} ]]; then visible={visible}; else {counted}; fi"]


def _yes(plan: LaunchPlan, part: str) -> str:
    """A test that a yes-or-no part says yes; `false` where the recipe has no such field."""
    key = _key(plan, part)
    return f"[[ ${name_of(key)} == {literal(plan.config.recipe.by_key[key].words[0])} ]]" if key else "false"


def _refuse(test: str, sentence: str) -> list[str]:
    return [f"if {test}; then", f'  fail "{sentence}"', "fi"]


def _rollout(plan: LaunchPlan, stack: Stack) -> list[str]:
    """Who generates, and what follows for the GPUs. Source: ms-swift's grpo_trainer.py and its argument checks."""
    vllm, lmdeploy = _yes(plan, "use_vllm"), _yes(plan, "use_lmdeploy")
    processes = _override(plan, "nproc_per_node")
    known = "[[ -n $visible ]] && (( processes > 0 ))"
    lines = [f"rollout=false; if {vllm} || {lmdeploy}; then rollout=true; fi"]
    if stack.infer_workers and _key(plan, "num_infer_workers"):
        told = t(
            "{variable}=$workers: at most one generation worker for each process; processes $processes.",
            variable=_override(plan, "num_infer_workers"),
        )
        lines.append(f"workers={_number(plan, 'num_infer_workers', '0')}")
        lines += _refuse("[[ $rollout == true ]] && (( processes > 0 && workers > processes ))", told)
        lines += _placement(plan)
    if stack.vllm_needs_one_each and plan.config.recipe.data.batch.rule == "grpo":
        told = t(
            "{processes}: vLLM needs as many visible GPUs ($visible) as processes ($processes).", processes=processes
        )
        lines += _refuse(f"{vllm} && {known} && (( visible != processes ))", told)
    told = t(
        "{processes}: visible GPUs ($visible) cannot be shared out evenly among the processes ($processes).",
        processes=processes,
    )
    lines += _refuse(f"[[ $rollout == false ]] && {known} && (( visible % processes != 0 ))", told)
    if _key(plan, "deepspeed"):
        told = t("{processes}: DeepSpeed needs as many processes as visible GPUs ($visible).", processes=processes)
        test = f"[[ $rollout == false && -n ${_var(plan, 'deepspeed')} ]] && {known} && (( visible > processes ))"
        lines += _refuse(test, told)
    if _key(plan, "vllm_tensor_parallel_size"):
        variable = _override(plan, "vllm_tensor_parallel_size")
        told = t("{variable}=$tensor: the number of processes, $processes, is not a multiple of it.", variable=variable)
        lines.append(f"tensor={_number(plan, 'vllm_tensor_parallel_size', '1')}")
        placed = "[[ $rollout == false ]] && " if stack.infer_workers else ""  # workers have rules of their own
        lines += _refuse(f"{placed}(( processes > 0 && tensor > 1 && processes % tensor != 0 ))", told)
    return lines


def _placement(plan: LaunchPlan) -> list[str]:
    """What of ms-swift 3.2 to 3.4 needs generation workers on GPUs of their own, or on all of them."""
    known = "[[ $rollout == true && -n $visible ]] && (( processes > 0 && workers > 0 ))"
    lines = []
    if _key(plan, "async_generate"):
        told = t(
            "{variable}: the generation workers need GPUs of their own; $visible visible.",
            variable=_override(plan, "async_generate"),
        )
        lines += _refuse(f"{_yes(plan, 'async_generate')} && {known} && (( processes + workers > visible ))", told)
    if _key(plan, "tensor_parallel_size"):
        told = t(
            "{variable}: needs as many processes and generation workers as visible GPUs ($visible), and more than one.",
            variable=_override(plan, "tensor_parallel_size"),
        )
        shared = "processes > 1 && workers == processes && visible == processes"
        split = f"(( {_number(plan, 'tensor_parallel_size', '1')} > 1 && ! ({shared}) ))"
        lines += _refuse(f"{known} && {split}", told)
    return lines


def _mode(plan: LaunchPlan, stack: Stack) -> list[str]:
    """use_vllm and vllm_mode go together. Source: ms-swift's rlhf arguments, 3.11.1 and later."""
    mode = _var(plan, "vllm_mode")
    if not (stack.vllm_mode and mode and _key(plan, "use_vllm")):
        return []
    variable, use = _override(plan, "vllm_mode"), _override(plan, "use_vllm")
    without = t("{variable} is set and {use} is not true: set {use}=true.", variable=variable, use=use)
    missing = t("{use}=true needs {variable}.", variable=variable, use=use)
    return [
        *_refuse(f"[[ -n ${mode} ]] && ! {_yes(plan, 'use_vllm')}", without),
        *_refuse(f"[[ -z ${mode} ]] && {_yes(plan, 'use_vllm')}", missing),
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
    lines.append(f"step=$(( {_number(plan, 'per_device_train_batch_size', '0')} * world ))")
    lines.append(f"generation_batch=$(( step{factor} ))")
    if stack.accumulation_counts:
        lines += _generation_batch(plan, stack)
    lines.append(f"generations={_number(plan, 'num_generations', '0')}")
    lines += [
        "if (( generations > 0 && generation_batch % generations != 0 )); then",
        '  valid=$(divisors "$generation_batch")',
        f'  fail "{told}"',
        "fi",
    ]
    if _key(plan, "sequence_parallel_size"):
        variable = _override(plan, "sequence_parallel_size")
        told = t("{variable}=$sequence is more than the number of processes, $world.", variable=variable)
        lines.append(f"sequence={_number(plan, 'sequence_parallel_size', '1')}")
        lines += _refuse("(( world > 0 && sequence > world ))", told)
    return lines + _evaluation(plan, stack)


def _generation_batch(plan: LaunchPlan, stack: Stack) -> list[str]:
    """A generation batch that is given, beside the steps that may be given too."""
    given, steps = _var(plan, "generation_batch_size"), _var(plan, "steps_per_generation")
    if not given:
        return []
    variable = _override(plan, "generation_batch_size")
    told = t(
        "{variable}=$generation_batch is not a multiple of per-device batch × processes = $step.", variable=variable
    )
    lines = [f"product=$generation_batch; if [[ -n ${given} ]]; then generation_batch=${given}; fi"]
    lines += _refuse("(( step > 0 && generation_batch % step != 0 ))", told)
    if steps:
        both = f"[[ -n ${given} && -n ${steps} ]]"
        agree = "" if stack.both_given == "error" else " && (( generation_batch != product ))"
        told = t(
            "{variable}=$generation_batch does not go with {steps}; set one of them.",
            variable=variable,
            steps=_override(plan, "steps_per_generation"),
        )
        lines += _refuse(f"{both}{agree}", told)
    return lines


def _evaluation(plan: LaunchPlan, stack: Stack) -> list[str]:
    if not _key(plan, "per_device_eval_batch_size"):
        return []
    own = _number(plan, "num_generations_eval", "0") if stack.generations_eval else "0"
    told = t(
        "{variable}=$each_eval: the evaluation batch $eval_batch is not a multiple of $generations generations.",
        variable=_override(plan, "per_device_eval_batch_size"),
    )
    return [
        *_evaluates(plan, stack),
        f"each_eval={_number(plan, 'per_device_eval_batch_size', '0')}",
        "eval_batch=$(( each_eval * world ))",
        *([f"if (( {own} > 0 )); then generations={own}; fi"] if own != "0" else []),
        "if [[ $evaluates == true ]] && (( generations > 0 && eval_batch % generations != 0 )); then",
        f'  fail "{told}"',
        "fi",
    ]


def _evaluates(plan: LaunchPlan, stack: Stack) -> list[str]:
    """Whether the trainer will evaluate, as `core.assess` sees it."""
    strategy, files, ratio = (_var(plan, part) for part in ("eval_strategy", "val_dataset", "split_dataset_ratio"))
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


def _total(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    """A total batch that is divided by the processes: each of them needs a sample."""
    if not _key(plan, "batch_size"):
        return []
    told = t("{variable}=$batch on $world processes leaves 0 samples for each.", variable=_override(plan, "batch_size"))
    return [
        f"batch={_number(plan, 'batch_size', '0')}",
        f"world=$(( {_number(plan, 'nproc_per_node', '0')} * {_number(plan, 'nnodes', '1')} ))",
        *_refuse("(( batch > 0 && world > 0 && batch / world < 1 ))", told),
    ]


def _minionerec_sft(plan: LaunchPlan, stack: Stack) -> list[str]:  # noqa: ARG001
    if not (_key(plan, "batch_size") and _key(plan, "micro_batch_size")):
        return []
    world = f"{_number(plan, 'nproc_per_node', '0')} * {_number(plan, 'nnodes', '1')}"
    told = t(
        "{variable}=$batch: $batch // $micro // $world is 0 accumulation steps; at least 1 is needed.",
        variable=_override(plan, "batch_size"),
    )
    return [
        f"batch={_number(plan, 'batch_size', '0')}",
        f"micro={_number(plan, 'micro_batch_size', '0')}",
        f"world=$(( {world} ))",
        *_refuse("(( batch > 0 && micro > 0 && world > 0 && batch / micro / world < 1 ))", told),
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

_PLAIN_LIST = re.compile(r"(?:0|[1-9][0-9]{0,3})(?:,(?:0|[1-9][0-9]{0,3}))*", re.ASCII)
"""A list that `count_gpus` takes; UUIDs are odd here and counted the same."""
COUNT_GPUS = [
    "count_gpus() { # sets visible: how many GPUs the list $1 names; empty where that is not known",
    "  local item items seen=, kind='^ *(0|[123456789][0123456789]{0,3}) *$'",
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
