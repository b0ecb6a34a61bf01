"""A Windows batch file: CRLF, UTF-8, variables, then the command; it stops with one line and ends in the command's code.

No Windows was at hand to run it: Wine's cmd and a reader of cmd's documented rules judge it in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.files import Written
from prl_tui.core.plan import FOLDER, LaunchPlan
from prl_tui.export import cmd, losses
from prl_tui.export.model import Export, Format, header, one_line
from prl_tui.i18n import t
from prl_tui.lists import listed


def export(plan: LaunchPlan) -> Export:
    """The batch file of a plan."""
    lines = [
        "@echo off",
        "chcp 65001 >nul",
        "setlocal EnableExtensions DisableDelayedExpansion",
        "cmd /d /c exit 0",  # without a console chcp fails, and its code would stay; cd and set leave one as it is
        *(f"rem {one_line(line.rstrip())}".replace("%", "%%") for line in header(plan)),
        *_workdir(plan),
        *_activation(plan),
        *_variables(plan),
        *_files(plan),
        _command(plan),
        "exit /b %ERRORLEVEL%",
    ]
    return Export("\r\n".join(lines) + "\r\n", tuple(_losses(plan)))


def _command(plan: LaunchPlan) -> str:
    return " ".join(map(cmd.argument, plan.argv))


def _stop(test: str, sentence: str) -> Iterator[str]:
    yield f"{test} ("
    yield f"  >&2 {cmd.told(t('error: ') + sentence)}"
    yield "  exit /b 1"
    yield ")"


def _workdir(plan: LaunchPlan) -> Iterator[str]:
    if plan.workdir:
        yield f"cd /d {cmd.path(plan.workdir)} 2>nul"
        yield from _stop("if errorlevel 1", t("the working directory cannot be entered: ") + plan.workdir)


def _activation(plan: LaunchPlan) -> Iterator[str]:
    found = plan.activation
    if found.kind == "venv":
        file = cmd.path(found.name.rstrip("/") + "/Scripts/activate.bat").replace("/", "\\")
        yield from _stop(f"if not exist {file}", t("there is no virtual environment here: ") + found.name)
        yield f"call {file}"
        yield "if errorlevel 1 exit /b 1"
        moved = t("this virtual environment was made for another place, which it would activate: ")
        yield from _stop('if defined VIRTUAL_ENV if not exist "%VIRTUAL_ENV%\\Scripts\\"', moved + found.name)
    elif found.kind == "python":
        yield from _stop(f"if not exist {cmd.path(found.name)}", t("there is no such interpreter here: ") + found.name)
        folder = cmd.path(found.name.rpartition("/")[0] or "/").strip('"')
        yield f'set "PATH={folder};%PATH%"'
    elif found.kind == "conda":
        yield f"call conda activate {cmd.path(found.name)}"
        yield from _stop("if errorlevel 1", t("this conda environment could not be activated: ") + found.name)


def _variables(plan: LaunchPlan) -> Iterator[str]:
    for name in losses.inherited(plan):
        yield from _stop(f"if not defined {name}", t("this variable is needed and not set: ") + name)
    for name, value in plan.env:
        yield cmd.assignment(name, value)


def _files(plan: LaunchPlan) -> Iterator[str]:
    if plan.files:
        yield f"if not exist {FOLDER}\\ mkdir {FOLDER}"
        yield from _stop(f"if not exist {FOLDER}\\", t("cannot be written: ") + FOLDER)
    for file in plan.files:
        where = cmd.path(f"{FOLDER}\\{file.name}")
        told = t("cannot be written: ") + f"{FOLDER}/{file.name}"
        yield f"if exist {where} del /q {where}"
        yield from _stop(f"if exist {where}", told)
        for line in _lines(file):
            yield f">>{where} {cmd.told(line)}"
        yield from _stop(f"if not exist {where}", told)  # a redirection that fails sets no error level


def _lines(file: Written) -> list[str]:
    return file.text(FOLDER).removesuffix("\n").split("\n")


def refusal(plan: LaunchPlan) -> str:
    """Which value cmd cannot carry, and why; or ""."""
    for key, text in _texts(plan):
        if why := cmd.uncarried(text):
            return t("{key} cannot stand in a batch file: {why}.", key=key, why=why)
    return _unsafe_path(plan) or _same_name(plan) or _unwritable(plan) or _too_long(plan)


def _texts(plan: LaunchPlan) -> Iterator[tuple[str, str]]:
    """Every text that the file carries, with what it belongs to."""
    yield from ((argument.key or argument.flag or word, word) for argument in plan.arguments for word in argument.words)
    yield from ((variable.key or variable.name, variable.value or "") for variable in plan.variables)
    yield "workdir", plan.workdir
    yield "training_env", plan.activation.name
    yield from ((file.name, line) for file in plan.files for line in _lines(file))


def _unsafe_path(plan: LaunchPlan) -> str:
    """Windows has no name with a quote in it, and `call` reads its line twice."""
    for key, text, marks in (("workdir", plan.workdir, '"'), ("training_env", plan.activation.name, '"%^')):
        for mark in marks:
            if mark in text and not (key == "training_env" and plan.activation.kind in {"", "this"}):
                return t("{key} cannot stand in a batch file: {why}.", key=key, why=t("it has {mark}", mark=mark))
    return ""


def _same_name(plan: LaunchPlan) -> str:
    """Windows knows no case in the names of variables."""
    seen: dict[str, str] = {}
    for name, _ in plan.env:
        if (other := seen.setdefault(name.upper(), name)) != name:
            return t("{one} and {other} are the same variable on Windows.", one=other, other=name)
    return ""


def _unwritable(plan: LaunchPlan) -> str:
    """Lines that `echo` takes for itself."""
    for file in plan.files:
        for line in _lines(file):
            if "/?" in line or line.strip().lower() in {"", "on", "off"}:
                return t("{key} cannot stand in a batch file: {why}.", key=file.name, why=t("it has {mark}", mark=line))
    return ""


def _too_long(plan: LaunchPlan) -> str:
    for variable in plan.variables:
        if len(cmd.assignment(variable.name, variable.value or "")) > cmd.LONGEST:
            return _longer(variable.key or variable.name)
    if len(_command(plan)) > cmd.LONGEST:
        longest = max(plan.arguments, key=lambda one: sum(map(len, one.words)))
        return _longer(longest.key or t("command"))
    for file in plan.files:
        if any(len(cmd.told(line)) + len(FOLDER) + len(file.name) + 24 > cmd.LONGEST for line in _lines(file)):
            return _longer(file.name)
    return ""


def _longer(key: str) -> str:
    return t("{key} makes a line longer than the {most} characters that cmd takes.", key=key, most=cmd.LONGEST)


def _losses(plan: LaunchPlan) -> Iterator[str]:
    yield from losses.fixed_values(plan)
    if plan.launcher != "python":
        yield t("Windows has no NCCL: GPUs exchange by gloo there, if the program asks for it.")
    for name, value in plan.env:
        if not value:
            yield t("{name} is empty, and cmd has no empty variables: it is not set there.", name=name)
    posix = [key for key in plan.config.settings if str(plan.config.value(key) or "").startswith(("/", "~/"))]
    if posix:
        yield t("These are paths of Linux, which Windows looks for on its current drive: {keys}",
                keys=listed(posix))  # fmt: skip
    if plan.activation.kind == "python":
        yield t("training_env names an interpreter of Linux; on Windows a venv or a conda environment is found.")


FORMAT = Format("bat", ".bat", export, refusal)
