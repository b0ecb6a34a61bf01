"""One launcher on each node of a platform: what the platform alone knows reaches the checked bash script.

Every node runs the script that `bash` exports, whole; the number of nodes, this node's number, the first node's address and
port, and the GPUs come to it through the variables that override fields. A format that runs on nodes is a `Platform` and
the text around its script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prl_tui.core import assess, devices
from prl_tui.core.plan import LaunchPlan
from prl_tui.core.templates import PLACE
from prl_tui.export import bash, bash_files, losses
from prl_tui.export.model import header, one_line
from prl_tui.export.shell import literal
from prl_tui.i18n import t
from prl_tui.lists import listed

LONGEST = 120_000
"""Bytes that fit in one argument: Linux takes 128 KiB."""
GPUS = "cuda_visible_devices"
_MOST_GPUS = 16
"""Of one node: more processes than that do not have a GPU each."""
_NOTHING = "'\"\"'"
"""Nothing, between single quotes: those end and begin again. With `''` shellcheck would take them for a slip (SC1078)."""
_NEEDED = ("nnodes", "node_rank", "master_addr", "master_port", GPUS)


@dataclass(frozen=True, slots=True)
class Platform:
    """What a platform tells each node, and by which variables."""

    title: str
    gives: Mapping[str, str]
    """Field → what stands for its value between double quotes in bash."""
    needs: tuple[str, ...] = ()
    """Variables without which one of several nodes does not know its place."""
    gpus: str = ""
    """The variable with the number of this node's GPUs, where there is one."""
    taken: tuple[str, ...] = ()
    """Variables that a launcher or trainer would read as its own, with another meaning: they end here."""
    in_a_form: bool = False
    """The kind of node is chosen in a form, not named in the file."""
    hint: str = ""
    """What to do where `needs` are not there; one sentence."""


def refusal(plan: LaunchPlan, title: str) -> str:
    """Why a platform's nodes cannot run a plan, or ""."""
    if not set(_NEEDED) <= plan.config.recipe.by_key.keys():
        return t("{recipe} has no fields for nodes and GPUs, which {platform} decides.",
                 recipe=plan.config.recipe.name, platform=title)  # fmt: skip
    return _one_process() if plan.launcher == "python" and (plan.config.number("nnodes") or 1) > 1 else ""


def too_long(argument: str) -> str:
    """Why a text cannot be one argument of a program, or ""."""
    if len(argument.encode()) <= LONGEST:
        return ""
    return t("The script is longer than {most} bytes, which one argument cannot hold.", most=LONGEST)


def _one_process() -> str:
    return t("python starts one process: it cannot run on several nodes.")


def variable(plan: LaunchPlan, key: str) -> str:
    """The variable that overrides a field."""
    return plan.config.recipe.by_key[key].override


def gpus(plan: LaunchPlan) -> int:
    """How many GPUs a node needs; 0 for a run on the CPU."""
    config = plan.config
    if on_cpu(plan):
        return 0
    if listed := _listed(plan):
        return len(listed)
    return (config.number("nproc_per_node") or 1) if config.recipe.data.needs_gpu else 0


def on_cpu(plan: LaunchPlan) -> bool:
    """The config itself says that the run does without GPUs, rather than leaving them open."""
    config = plan.config
    needed = config.recipe.data.needs_gpu
    return devices.read(config.value(GPUS)).hides or (needed and not assess.needs_gpu(config))


def may_take_gpus(plan: LaunchPlan) -> int:
    """GPUs of a node for a command of one's own that names none: one for each process, if it trains on them; else 0.

    Its recipe asks for no GPU because nobody knows what the command does, where another one's program needs none.
    """
    if gpus(plan) or on_cpu(plan):
        return 0
    programs = plan.config.recipe.data.program.values()
    own = any(PLACE.fullmatch(text) for program in programs for text in (program.module, program.script))
    return (1 if plan.launcher == "python" else plan.config.number("nproc_per_node") or 1) if own else 0


def without_gpus(plan: LaunchPlan, in_a_form: bool = False) -> str:
    """Why a file asks for no GPUs. `in_a_form`: no file does, a person chooses a kind of node."""
    if on_cpu(plan):
        return t("No GPUs are asked for: the run is on the CPU.")
    if count := may_take_gpus(plan):
        if in_a_form:
            return t("{key} is not set: the job sees all GPUs of its node.", key=GPUS)
        return t("No GPUs are asked for: cuda_visible_devices is empty. Where the command trains on GPUs, set it, for example to {list}.",
                 list=",".join(map(str, range(min(count, _MOST_GPUS)))))  # fmt: skip
    return t("No GPUs are asked for: cuda_visible_devices is empty.")


def handed(plan: LaunchPlan, platform: Platform) -> tuple[str, ...]:
    """Fields whose values come from the platform: the GPUs too, where some are asked for."""
    return (*([GPUS] if gpus(plan) else []), *platform.gives)


def _listed(plan: LaunchPlan) -> list[str]:
    return [item.strip() for item in plan.config.text(GPUS).split(",") if item.strip()]


def _numbered(plan: LaunchPlan) -> str:
    """The GPUs as a container counts them, where the config's own list says otherwise; or ""."""
    listed = _listed(plan) if gpus(plan) else []
    counted = [str(number) for number in range(len(listed))]
    return ",".join(counted) if listed != counted else ""


def stop(sentence: str, value: str = "") -> str:
    """A command that ends a node with one line; `value` is an expansion that stands at its end."""
    shown = f'"{value}"' if value else ""
    return f"{{ printf '%s\\n' {literal(t('error: ') + sentence)}{shown} >&2; exit 1; }}"


def exports(plan: LaunchPlan, platform: Platform) -> Iterator[str]:
    """Lines that hand over to the script which node this is."""
    for key, text in platform.gives.items():
        yield f'export {variable(plan, key)}="{text}"'
    if plan.launcher == "python":
        yield f"if [[ ${variable(plan, 'nnodes')} != 1 ]]; then {stop(_one_process())}; fi"


def given_gpus(plan: LaunchPlan) -> str:
    """A line that takes the list of GPUs which the platform gives, where it gives one."""
    return f'if [[ -n ${{CUDA_VISIBLE_DEVICES-}} ]]; then export {variable(plan, GPUS)}="$CUDA_VISIBLE_DEVICES"; fi'


def script(plan: LaunchPlan, platform: Platform) -> str:
    """What every node runs by `bash -c`: the platform's values, then the script."""
    several = (plan.config.number("nnodes") or 1) > 1
    missing = " || ".join(f"-z ${{{name}-}}" for name in platform.needs)
    told = t("{platform} did not say which node this is: {variables} are not set.",
             platform=platform.title, variables=listed(platform.needs))  # fmt: skip
    alone = [f"export {variable(plan, 'nnodes')}=1 {variable(plan, 'node_rank')}=0"]
    lines = [
        "set -euo pipefail",
        "# --- " + t("what {platform} gives this node", platform=platform.title) + " ---",
        f"if [[ {missing} ]]; then",
        *(f"  {line}" for line in ([stop(f"{told} {platform.hint}".rstrip())] if several else alone)),
        "else",
        *(f"  {line}" for line in exports(plan, platform)),
        "fi",
        *_gpu_lines(plan, platform),
        *([f"unset {' '.join(platform.taken)}"] if platform.taken else []),
    ]
    return "\n".join(lines) + "\n" + bash.export(plan, handed(plan, platform)).text


def _gpu_lines(plan: LaunchPlan, platform: Platform) -> Iterator[str]:
    yield given_gpus(plan)
    need = gpus(plan)
    if platform.gpus and need:
        count = f"${{{platform.gpus}-}}"
        told = t("this node has too few GPUs; the run config needs {need}, and {variable} says: ",
                 need=need, variable=platform.gpus)  # fmt: skip
        yield f"if [[ {count} =~ ^[0-9]{{1,4}}$ ]] && (( {count} < {need} )); then {stop(told, count)}; fi"
    if own := _numbered(plan):
        name = variable(plan, GPUS)
        yield f"if [[ -z ${{{name}-}} ]]; then export {name}={own}; fi"


def word(text: str) -> str:
    """`bash -c` of a script, as one command of any POSIX shell.

    It has no `$$`, no `$(NAME)` and no `${{`: where a platform reads those before the shell does, it finds none.
    """
    return f"exec bash -c {_apart(literal(text), _NOTHING)} prl-node"


def comments(plan: LaunchPlan) -> list[str]:
    """What the file says of itself."""
    return [one_line(f"# {line}".rstrip()) for line in header(plan)]


def commented(plan: LaunchPlan) -> list[str]:
    """The same, where a platform may expand even what stands in a comment: it finds nothing there."""
    return [_apart(line, " ") for line in comments(plan)]


def _apart(text: str, between: str) -> str:
    return re.sub(r"\$(?=\$|\([\w.-]+\)|\{\{)", lambda _: f"${between}", text, flags=re.ASCII)


def job_name(plan: LaunchPlan, longest: int = 40) -> str:
    """A name of small letters, digits and dashes that begins with a letter, with room for what a platform appends."""
    parts = [part for part in (plan.config.recipe.name, plan.config.preset) if part]
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    name = name if re.match("[a-z]", name) else f"prl-{name}"
    return name[:longest].strip("-")


def lost(plan: LaunchPlan, platform: Platform) -> Iterator[str]:
    """What is said of every platform that runs on nodes of its own."""
    yield t("{variables} come from {platform}: values for them are not used.",
            variables=listed(variable(plan, key) for key in platform.gives), platform=platform.title)  # fmt: skip
    if gpus(plan) or plan.config.text(GPUS):
        yield t("Where {platform} sets CUDA_VISIBLE_DEVICES, that list is used instead of the config's.",
                platform=platform.title)  # fmt: skip
    yield t("One of {names} that is set in the job's own environment overrides its field there, on every node.",
            names=losses.overriding(plan))  # fmt: skip
    if own := _numbered(plan):
        yield t("The GPUs {list} of the config are {own} there: a node's GPUs are counted from 0.",
                list=plan.config.text(GPUS), own=own)  # fmt: skip
    if not gpus(plan):
        yield without_gpus(plan, platform.in_a_form)
    if plan.files:
        yield t(
            "{variable} must be a folder of each node: every node writes the files itself.",
            variable=bash_files.PLACE_VARIABLE,
        )
    yield t("What the run writes stays on the node where its rank runs, and is lost with it unless it goes to a mounted"
            " volume.")  # fmt: skip
    yield losses.at_deletion(plan)
