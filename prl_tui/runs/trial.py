"""Tries a plan's program in its training environment, in a process of its own and within a deadline, before a launch.

Engines print, hang, crash and are killed: whatever happens there is a value here (`core.trial.Trial`).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prl_tui import reasons
from prl_tui.core import assess
from prl_tui.core.config import RunConfig
from prl_tui.core.flags import SUBCOMMANDS
from prl_tui.core.plan import LaunchPlan
from prl_tui.core.templates import PLACE
from prl_tui.core.trial import End, Step, Trial
from prl_tui.machine import environment
from prl_tui.runs import plans, trial_guard
from prl_tui.runs.launcher import LaunchError
from prl_tui.telemetry.escapes import plain

DEADLINE = 180.0
"""Seconds that a trial may take: an import from a cold network disk takes minutes."""
TURN = 0.05
_CHILD = Path(__file__).with_name("trial_child.py")
_WORDS = 20
_OWN = {"step", "ok", "kind", "text", "at"}


def run(
    plan: LaunchPlan,
    here: Path,
    *,
    deadline: float = DEADLINE,
    on_step: Callable[[str], None] | None = None,
    cancelled: threading.Event | None = None,
    around: Mapping[str, str] | None = None,
    gpus: bool = True,
) -> Trial:
    """Try it. `on_step` hears each step as it begins; `cancelled` ends it early. Never raises for what happens there.

    Without `gpus` torch is not asked for any: the box is known to have none, and the rest can be tried all the same.
    """
    with tempfile.TemporaryDirectory(prefix="prl-trial-", ignore_cleanup_errors=True) as folder:
        try:
            return _Child(plan, here, Path(folder), around, gpus).until_end(deadline, on_step, cancelled)
        except LaunchError as error:
            return Trial("unstartable", words=(error.sentence,))
        except OSError as error:
            return Trial("unstartable", words=(f"{error.filename or ''}: {reasons.of(error)}",))


class _Child:
    """The process and its files."""

    def __init__(
        self, plan: LaunchPlan, here: Path, folder: Path, around: Mapping[str, str] | None, gpus: bool
    ) -> None:
        self._result, self._output = folder / "result.jsonl", folder / "output"
        self._result.touch()
        scratch = folder / "scratch"
        scratch.mkdir()
        prefix, added, cwd = plans.place(plan, here, around)
        order = folder / "order.json"
        order.write_text(json.dumps(order_of(plan, cwd, scratch, gpus)), "utf-8")
        command = [*prefix, _python(plan), "-u", str(_CHILD), str(order), str(self._result)]
        env = {**(os.environ if around is None else around), **dict(added), **dict(plan.env)}
        env["WANDB_MODE"] = "disabled"
        self._refused = folder / trial_guard.REFUSED
        self._began = time.monotonic()
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable or "python3", "-I", "-S", trial_guard.__file__, str(folder)],
                cwd="/", stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        self._lifeline = self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._lifeline.write(json.dumps({"command": command, "env": env, "cwd": str(cwd)}).encode() + b"\n")
            self._lifeline.flush()

    def until_end(
        self, deadline: float, on_step: Callable[[str], None] | None, cancelled: threading.Event | None
    ) -> Trial:
        """Wait, telling each step; kill what is over its time."""
        told = None
        wait = cancelled or threading.Event()
        end: End = "done"
        try:
            while self._process.poll() is None:
                step = self._read()[1]
                if step != told:
                    told = step
                    if on_step:
                        on_step(step)
                if time.monotonic() - self._began > deadline:
                    end = "late"
                    break
                if wait.wait(TURN):
                    end = "cancelled"
                    break
        finally:
            self._kill()
        return self._trial(end)

    def _kill(self) -> None:
        """All of it, what the engine started in sessions of its own too: its guard sees to that."""
        with contextlib.suppress(BrokenPipeError):
            self._lifeline.close()
        try:
            self._process.wait(trial_guard.PATIENCE + 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _trial(self, end: End) -> Trial:
        if self._refused.exists():
            told = json.loads(self._refused.read_text("utf-8"))
            raise OSError(told["errno"], os.strerror(told["errno"]), told["file"])
        steps, under_way, complete = self._read()
        code = self._process.returncode
        if end == "done" and not complete:
            end = "killed" if code < 0 else "crashed" if code else "silent"
        seconds = time.monotonic() - self._began
        return Trial(end, steps, under_way, abs(code), seconds, self._last_words())

    def _read(self) -> tuple[tuple[Step, ...], str, bool]:
        """The steps that ended, the one under way, and whether the last line was written."""
        steps: list[Step] = []
        under_way, complete = "", False
        for line in self._result.read_text("utf-8", "replace").splitlines():
            try:
                said = json.loads(line)
                name = str(said["step"])
            except (ValueError, KeyError, TypeError):
                continue  # half a line
            if "begins" in said:
                under_way = name
            elif not name:
                complete = True
            else:
                found = {key: value for key, value in said.items() if key not in _OWN}
                texts = {key: str(said.get(key, "")) for key in ("kind", "text", "at")}
                steps.append(Step(name, bool(said.get("ok")), found=found, **texts))
        return tuple(steps), under_way, complete

    def _last_words(self) -> tuple[str, ...]:
        with self._output.open("rb") as file:
            file.seek(max(0, self._output.stat().st_size - 16384))
            lines = [plain(line).strip() for line in file.read().decode("utf-8", "replace").splitlines()]
        return tuple(line[:400] for line in lines if line)[-_WORDS:]


def _python(plan: LaunchPlan) -> str:
    """The environment's interpreter; a word for the activated PATH to find where it is not known."""
    found = environment.interpreter(plan.activation)
    return str(found) if found is not None else "python"


def order_of(plan: LaunchPlan, cwd: Path, scratch: Path, gpus: bool = True) -> dict[str, object]:
    """What the child is to try: which module or script, with which flags, in a world of how many ranks."""
    config = plan.config
    program = config.recipe.data.program[plan.launcher]
    known = not PLACE.search(program.module + program.script)  # a person's own script might train as soon as it is read
    command, flags = _swift(plan.argv)
    local = config.number("nproc_per_node") or 1
    own_module, own_script = (_said(config, text) for text in (program.module, program.script))
    return {
        "own_module": own_module,
        "own_script": str(cwd / own_script) if own_script and not own_module else "",
        "python": not {"--no_python", "--no-python"}.intersection(plan.argv),
        "swift": command,
        "flags": flags,
        "module": program.module if known else "",
        "script": str(cwd / program.script) if known and program.script.endswith(".py") else "",
        "world": local * (config.number("nnodes") or 1),
        "local_world": local,
        "gpus": gpus and assess.needs_gpu(config),
        "scratch": str(scratch),
        "argv": list(plan.argv),
    }


def _said(config: RunConfig, text: str) -> str:
    """What a field says where the recipe leaves the program to one; "" where it does not, or the field is not set."""
    place = PLACE.fullmatch(text)
    return config.text(place[1]) if place and config.value(place[1]) is not None else ""


def _swift(argv: tuple[str, ...]) -> tuple[str, list[str]]:
    """ms-swift's sub-command and the words behind it, of `swift rlhf …` and `-m swift.cli.rlhf …`; "" for others."""
    for at, word in enumerate(argv):
        command = word.removeprefix("swift.cli.") if word.startswith("swift.cli.") else ""
        if command in SUBCOMMANDS - {"infer"}:
            return command, list(argv[at + 1 :])
        if word.rsplit("/", 1)[-1] == "swift" and argv[at + 1 : at + 2] and argv[at + 1] in SUBCOMMANDS - {"infer"}:
            return argv[at + 1], list(argv[at + 2 :])
    return "", []


__all__ = ["DEADLINE", "order_of", "run"]
