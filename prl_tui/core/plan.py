"""The launch plan: one frozen answer to "what exactly will run", for preview, export and launch alike.

Nothing else builds a command. Each word remembers which field it came from, so that an exported script can let
an environment variable override that field and still run the same command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from prl_tui.core import values, wandb
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.recipe import Field, Launcher
from prl_tui.core.templates import PLACE
from prl_tui.core.value import Value, replace

if TYPE_CHECKING:
    from prl_tui.core.files import Written

PORT = "master_port"
FOLDER = "prl-files"
"""Where a plan's own files lie until it is known better: below the directory in which the command runs."""
_INTERPRETER = re.compile(r"/bin/(python|pypy)[0-9.]*$", re.ASCII)
When = Literal["", "several-nodes", "several-processes", "no-port"]


class Argument(Value):
    """One argument of the command: fixed words, or the flag and value of a field."""

    words: tuple[str, ...]
    """As they stand in argv; empty when the field is not set."""
    key: str = ""
    flag: str = ""
    joined: bool = False
    """`--flag=value` in one word."""
    when: When = ""
    """Stands only under this condition, which an overriding variable can change."""
    times: str = ""
    """Another field whose number multiplies this one's."""
    file: str = ""
    """The plan's own file whose path this argument gives."""
    unless: str = ""
    """Stands only where this field is not set."""
    not_alone: tuple[str, ...] = ()
    """Words among a person's own that stand only where there are several processes."""


class Variable(Value):
    """One environment variable that the plan sets."""

    name: str
    value: str | None
    """None when the field behind it is not set, or the condition does not hold."""
    key: str = ""
    when: When = ""


class Activation(Value):
    """How the training environment becomes the one that the command finds."""

    kind: str = ""
    """`conda`, `venv`, `python`, `this` (the one that prl-tui runs in) or "" for what PATH gives."""
    name: str = ""
    """The conda environment's name or path, the venv's folder, or the interpreter's path."""
    hook: str = ""
    """conda's own etc/profile.d/conda.sh; "" lets the script find it."""


class LaunchPlan(Value):
    """What will run. Frozen; `with_port` and the like give another plan."""

    config: RunConfig
    launcher: Launcher
    arguments: tuple[Argument, ...]
    variables: tuple[Variable, ...]
    workdir: str
    activation: Activation
    files: tuple[Written, ...] = ()
    """Files that must be written before the command starts."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command, word for word."""
        return tuple(word for argument in self.arguments for word in argument.words)

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """The variables that are set, in order."""
        return tuple((v.name, v.value) for v in self.variables if v.value is not None)

    @property
    def port_fixed(self) -> bool:
        """A person chose the port, rather than the recipe."""
        return self.config.settings[PORT].source > Source.PRESET if PORT in self.config.settings else False

    def command_line(self) -> str:
        """The command with its variables as one shell line."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.env]
        return " ".join([*words, *(shlex.quote(word) for word in self.argv)])

    def command_lines(self, quote: Callable[[str], str] = shlex.quote) -> list[str]:
        """The same, one argument a line, for a person to read; `quote` makes a text one word of a shell."""
        head = " ".join(f"{name}={quote(value)}" for name, value in self.env)
        lines = [head] if head else []
        launch: list[str] = []
        for argument in self.arguments:
            if not argument.words:
                continue
            text = " ".join(quote(word) for word in argument.words)
            field = self.config.recipe.by_key[argument.key] if argument.key else None
            if field is None or argument.joined or field.before or not (field.flag or field.bare):
                launch.append(text)
            else:
                lines += [" ".join(launch)] if launch else []
                launch = []
                lines.append(f"  {text}")
        return lines + ([" ".join(launch)] if launch else [])


def build(config: RunConfig) -> LaunchPlan:
    """The plan of a run config. A field that is not set, or cannot be read, is left out."""
    config = wandb.headless(config)
    launcher = _launcher(config)
    own = _own_files(config)
    named = {file.key: file.name for file in own if file.key}
    flagged = [f for f in config.recipe.fields if _applies(f, launcher) and (f.flag or f.bare)]
    arguments = [
        *_launch_words(config, launcher),
        *(_before(_argument(config, field, named), config, launcher) for field in flagged if field.before),
        *_program_words(config, launcher),
        *(Argument((word,)) for word in config.recipe.data.arguments),
        *(_argument(config, field, named) for field in flagged if not field.before),
    ]
    variables = [
        Variable(field.env, _value(config, field), field.key)
        for field in config.recipe.fields
        if field.env and _applies(field, launcher)
    ]
    variables += _free_variables(config)
    if launcher == "swift":
        variables += _swift_variables(config)
    return LaunchPlan(
        config,
        launcher,
        tuple(arguments),
        tuple(variables),
        str(config.value("workdir") or ""),
        _activation(config),
        own,
    )


def _own_files(config: RunConfig) -> tuple[Written, ...]:
    if not config.recipe.data.write:
        return ()
    from prl_tui.core import files

    return files.written(config)


def with_folder(plan: LaunchPlan, folder: str) -> LaunchPlan:
    """The plan with its own files in `folder`, as an absolute path or one below where the command runs."""
    arguments = tuple(
        replace(argument, words=(argument.flag, f"{folder}/{argument.file}")) if argument.file else argument
        for argument in plan.arguments
    )
    return replace(plan, arguments=arguments)


def with_port(plan: LaunchPlan, port: int) -> LaunchPlan:
    """The plan on another master port: what a launch here does when nobody fixed one."""
    if PORT not in plan.config.settings:
        return plan
    config = plan.config.with_values({PORT: port}, Source.FIX)
    rebuilt = build(config)
    return replace(rebuilt, config=plan.config)


def _launcher(config: RunConfig) -> Launcher:
    chosen = config.value("launcher") if "launcher" in config.settings else None
    return chosen if chosen in config.recipe.data.program else config.recipe.data.launcher


def _applies(field: Field, launcher: Launcher) -> bool:
    return not field.only_with or launcher in field.only_with


def _value(config: RunConfig, field: Field) -> str | None:
    return config.text(field.key) if config.value(field.key) is not None else None


def _argument(config: RunConfig, field: Field, named: Mapping[str, str]) -> Argument:
    if field.key in named:
        name = named[field.key]
        return Argument((field.flag, f"{FOLDER}/{name}"), field.key, field.flag, file=name)
    value = config.value(field.key)
    if value is None:
        return Argument((), field.key, field.flag)
    words = tuple(value) if isinstance(value, tuple) else (config.text(field.key),)
    return Argument((*((field.flag,) if field.flag else ()), *words), field.key, field.flag)


MULTI_GPU = ("--multi_gpu", "--multi-gpu")
"""The option of accelerate that needs two processes: with one it stops with a ValueError (1.15's _validate_launch_command)."""


def _before(argument: Argument, config: RunConfig, launcher: Launcher) -> Argument:
    """The launcher's own arguments, without what it refuses for so few processes as there are."""
    if launcher != "accelerate" or argument.flag or config.recipe.by_key[argument.key].type != "arguments":
        return argument
    alone = config.number("nproc_per_node") is not None and not holds(config, "several-processes")
    words = tuple(word for word in argument.words if not (alone and word in MULTI_GPU))
    return replace(argument, words=words, not_alone=MULTI_GPU)


def _free_variables(config: RunConfig) -> list[Variable]:
    """Variables that a person lists; a name alone is inherited from the launch."""
    found = []
    for field in config.recipe.fields:
        entries = config.value(field.key) if field.type == "variables" else None
        for entry in entries or ():
            name, equals, value = entry.partition("=")
            found.append(Variable(name, value if equals else None, field.key))
    return found


def _joined(config: RunConfig, key: str, flag: str, when: When = "") -> Argument:
    text = config.text(key) if config.value(key) is not None and holds(config, when) else None
    return Argument((f"{flag}={text}",) if text is not None else (), key, flag, True, when)


def holds(config: RunConfig, when: When) -> bool:
    """Whether an argument's condition is true of a config."""
    nodes, processes = config.number("nnodes") or 1, config.number("nproc_per_node") or 1
    return {
        "": True,
        "several-nodes": nodes > 1,
        "several-processes": nodes > 1 or processes > 1,
        "no-port": config.value(PORT) is None and nodes < 2,
    }[when]


def _launch_words(config: RunConfig, launcher: Launcher) -> Iterator[Argument]:
    program = config.recipe.data.program[launcher]
    if launcher == "torchrun":
        yield Argument(("torchrun",))
        yield from _rendezvous(config)
    elif launcher == "swift":
        yield Argument(("swift", *program.command))
    elif launcher == "python":
        found = _activation(config)
        yield Argument((found.name if found.kind == "python" else "python",))
    else:
        yield Argument(("accelerate", "launch", *program.command))
        yield from _machines(config)


def _machines(config: RunConfig) -> Iterator[Argument]:
    """With accelerate, --num_processes counts those of all machines. Source: accelerate 1.15's launch command."""
    nodes = config.number("nnodes") or 1
    each = config.number("nproc_per_node")
    words = () if each is None else (f"--num_processes={each * nodes}",)
    yield Argument(words, "nproc_per_node", "--num_processes", True, times="nnodes")
    for key, flag in (("nnodes", "num_machines"), ("node_rank", "machine_rank"), ("master_addr", "main_process_ip")):
        yield _joined(config, key, f"--{flag}", "several-nodes")
    yield _joined(config, PORT, "--main_process_port")


def _program_words(config: RunConfig, launcher: Launcher) -> Iterator[Argument]:
    program = config.recipe.data.program[launcher]
    module, script = (PLACE.fullmatch(text) for text in (program.module, program.script))
    if module:
        yield _said(config, module[1], "-m")
    elif program.module:
        yield Argument(("-m", program.module))
    if script:
        yield _said(config, script[1], "", module[1] if module else "")
    elif program.script and not program.module:
        yield Argument((program.script,))


def _said(config: RunConfig, key: str, flag: str, unless: str = "") -> Argument:
    """A part of the command that a field says."""
    value = None if unless and config.value(unless) is not None else config.value(key)
    words = () if value is None else (*((flag,) if flag else ()), config.text(key))
    return Argument(words, key, flag, unless=unless)


def _rendezvous(config: RunConfig) -> Iterator[Argument]:
    """One node: a port, or --standalone, which finds one. Several: who and where. Source: torchrun 2.13."""
    yield _joined(config, "nproc_per_node", "--nproc_per_node")
    for key in ("nnodes", "node_rank", "master_addr"):
        yield _joined(config, key, f"--{key}", "several-nodes")
    yield Argument(("--standalone",) if holds(config, "no-port") else (), when="no-port")
    yield _joined(config, PORT, "--master_port")


def _swift_variables(config: RunConfig) -> list[Variable]:
    """The swift command starts torchrun itself when NPROC_PER_NODE or NNODES is set. Source: swift/cli/main.py."""
    table: tuple[tuple[str, str, When], ...] = (
        ("NPROC_PER_NODE", "nproc_per_node", "several-processes"),
        ("NNODES", "nnodes", "several-nodes"),
        ("NODE_RANK", "node_rank", "several-nodes"),
        ("MASTER_ADDR", "master_addr", "several-nodes"),
        ("MASTER_PORT", PORT, ""),
    )
    return [
        Variable(name, config.text(key) or None if holds(config, when) else None, key, when)
        for name, key, when in table
    ]


def _activation(config: RunConfig) -> Activation:
    text = str(config.value("training_env") or "") if "training_env" in config.settings else ""
    hook = str(config.value("conda_hook") or "") if "conda_hook" in config.settings else ""
    return activation_of(text, hook)


def activation_of(text: str, hook: str = "") -> Activation:
    """What a training_env means: conda:NAME, `this`, a venv's folder, a python's path, "" for what PATH gives."""
    if not text or text == "this":
        return Activation(text)
    kind, _, name = text.partition(":")
    if kind == "conda" and name:
        return Activation("conda", name, hook)
    if _INTERPRETER.search(text):
        return Activation("python", text)
    return Activation("venv", text)


def argument_values(config: RunConfig, field: Field) -> tuple[str, ...]:
    """The words of a field's value, without its flag."""
    value = config.value(field.key)
    if value is None:
        return ()
    return tuple(value) if isinstance(value, tuple) else (values.show(field, value),)
