"""A Slurm batch file: one launcher on each node, GPUs as the scheduler gave them, a port from the job's number.

Each node runs the same checked bash script that `bash` exports; what Slurm alone knows (nodes, this node's number, the
first node's address, GPUs) reaches it through the variables that override fields. torchrun meets by c10d on several
nodes. Measured with Slurm 22.05.8: no variable is expanded in #SBATCH lines, and a line after the first command is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.plan import PORT, LaunchPlan
from prl_tui.export import bash, bash_files, bash_overrides, losses, nodes
from prl_tui.export.model import Export, Format, header, one_line
from prl_tui.export.shell import literal, no_arguments
from prl_tui.i18n import t
from prl_tui.lists import listed

SLURM = nodes.Platform(
    "Slurm",
    gives={
        "nnodes": "$SLURM_JOB_NUM_NODES",
        "node_rank": "$SLURM_NODEID",
        "master_addr": "$SLURM_LAUNCH_NODE_IPADDR",
    },
)


def export(plan: LaunchPlan) -> Export:
    """The batch file of a plan."""
    script = bash.export(plan, nodes.handed(plan, SLURM)).text
    end = bash_files.end_of(script)
    lines = [
        "#!/bin/bash",
        *_directives(plan),
        *(one_line(f"# {line}".rstrip()) for line in header(plan)),
        "# " + t("Submit it with sbatch; --partition, --time, --mem and --nodes given there override the lines above."),
        "set -euo pipefail",
        "fail() { printf '" + t("error: ") + "%s\\n' \"$*\" >&2; exit 1; }",
        no_arguments(bash_overrides.example_of(plan, nodes.handed(plan, SLURM))),
        '[[ -n ${SLURM_JOB_ID-} ]] || fail ' + literal(t("this file is for sbatch; the bash format runs without Slurm.")),
        *_port(plan),
        'if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi',
        "# shellcheck disable=SC2016  # " + t("values are literal"),
        f"IFS= read -r -d '' node <<'{end}' || true",
        *_node(plan),
        script.removesuffix("\n"),
        end,
        'nodes=(--nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1)',
        'exec srun --kill-on-bad-exit=1 "${nodes[@]}" bash -c "$node" prl-node',
    ]  # fmt: skip
    return Export("\n".join(lines) + "\n", tuple(_losses(plan)))


def refusal(plan: LaunchPlan) -> str:
    """Why Slurm cannot run a plan, or ""."""
    return nodes.refusal(plan, SLURM.title) or nodes.too_long(bash.export(plan, nodes.handed(plan, SLURM)).text)


def _directives(plan: LaunchPlan) -> Iterator[str]:
    config = plan.config
    name = one_line("-".join(part for part in (config.recipe.name, config.preset) if part)).replace('"', "")
    yield f'#SBATCH --job-name="{name}"'
    yield f"#SBATCH --nodes={config.number('nnodes') or 1}"
    yield "#SBATCH --ntasks-per-node=1"
    if gpus := nodes.gpus(plan):
        yield f"#SBATCH --gpus-per-node={gpus}"
    yield "#SBATCH --output=%x-%j.log"


def _port(plan: LaunchPlan) -> Iterator[str]:
    variable = nodes.variable(plan, PORT)
    if not plan.port_fixed:
        yield f'export {variable}="${{{variable}:-$(( 20000 + SLURM_JOB_ID % 20000 ))}}"'


def _node(plan: LaunchPlan) -> Iterator[str]:
    """What a node's script learns from Slurm before it starts."""
    if nodes.gpus(plan):
        told = t("Slurm gave this job no GPUs: CUDA_VISIBLE_DEVICES is empty.")
        yield f"if [[ -z ${{CUDA_VISIBLE_DEVICES-}} ]]; then {nodes.stop(told)}; fi"
    yield from nodes.exports(plan, SLURM)
    yield nodes.given_gpus(plan)
    if plan.launcher == "torchrun":
        port = f"${{{nodes.variable(plan, PORT)}:-{plan.config.text(PORT)}}}"
        yield "if (( SLURM_JOB_NUM_NODES > 1 )); then"
        yield f'  export PET_RDZV_BACKEND=c10d PET_RDZV_ID="$SLURM_JOB_ID" PET_RDZV_ENDPOINT="$SLURM_LAUNCH_NODE_IPADDR:{port}"'
        yield "  export PET_RDZV_CONF=is_host=$(( SLURM_NODEID == 0 ))"
        yield "fi"


def _losses(plan: LaunchPlan) -> Iterator[str]:
    yield t("Partition, account, time, memory and CPUs are no part of a run config: give them to sbatch.")
    yield t("sbatch passes on the variables of the submitting shell: one of {names} that is set there overrides its field.",
            names=losses.overriding(plan))  # fmt: skip
    yield t("`sbatch --export` cuts a value at a comma; set the variable before sbatch instead.")
    yield t("{variables} come from {platform}: values for them are not used.", platform=SLURM.title,
            variables=listed(nodes.variable(plan, key) for key in nodes.handed(plan, SLURM)))  # fmt: skip
    if nodes.on_cpu(plan):
        yield nodes.without_gpus(plan)
    elif not nodes.gpus(plan):
        yield t("No GPUs are asked for: cuda_visible_devices is empty. Set it, or give --gpus-per-node to sbatch.")
    if plan.port_fixed:
        yield t("The port {port} is fixed: a second job on the same node cannot use it.", port=plan.config.text(PORT))
    if plan.launcher == "torchrun" and (plan.config.number("nnodes") or 1) > 1:
        yield t("With c10d, rank 0 can be on any of the nodes: its files belong on shared storage.")
    if plan.files:
        yield t(
            "{variable} must be a folder of each node: every node writes the files itself.",
            variable=bash_files.PLACE_VARIABLE,
        )
    yield losses.at_risk(plan)


FORMAT = Format("slurm", ".sbatch", export, refusal)
