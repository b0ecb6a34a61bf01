"""Runs an exported script with real bash against a stub launcher that records exactly what it was given."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from prl_tui.core import plan
from prl_tui.core.config import RunConfig
from prl_tui.core.recipe import Field, Program, Recipe, RecipeFile, Text
from prl_tui.export import bash

# The kernel's own record of argv and environment, NUL-separated; then the code that the engine would exit with.
STUB = """#!/bin/sh
folder=${0%/*}
cat "/proc/$$/cmdline" >"$folder/argv"
cat "/proc/$$/environ" >"$folder/environ"
pwd -P >"$folder/cwd"
exit "$(cat "$folder/code")"
"""


@dataclass
class Outcome:
    """What became of one run of a script."""

    code: int
    out: str
    err: str
    argv: list[str] | None
    """As the launcher got it, its own name first; None when it was not started."""
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""

    @property
    def shown(self) -> dict[str, tuple[str, str]]:
        """Key → (value, origin), as the script shows them."""
        found = {}
        for line in self.out.splitlines():
            if line.startswith("  ") and line.endswith(")"):
                key, _, rest = line.strip().partition(" ")
                value, _, origin = rest.rpartition("  (")
                found[key] = (value.strip(), origin[:-1])
        return found


class Bench:
    """A folder with stub launchers in it, first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True, exist_ok=True)
        for name in ("torchrun", "swift", "accelerate", "python"):
            stub(self.bin, name)
        self.file = folder / "run.sh"
        self.code = 0

    def run(self, text: str, cwd: Path | None = None, shell: str = "bash", **env: str | bytes) -> Outcome:
        """Run a script's text; `env` is added to an environment of nothing but PATH."""
        self.file.write_text(text, "utf-8")
        return self.run_file(self.file, cwd, shell, **env)

    def run_file(self, file: Path, cwd: Path | None = None, shell: str = "bash", **env: str | bytes) -> Outcome:
        return self.run_words([shell, str(file)], cwd, **env)

    def run_words(self, words: list[str], cwd: Path | None = None, **env: str | bytes) -> Outcome:
        """Run a command word for word, as a container's own argv."""
        for name in ("argv", "environ", "cwd"):
            (self.bin / name).unlink(missing_ok=True)
        (self.bin / "code").write_text(str(self.code))
        whole = {"PATH": f"{self.bin}:{os.defpath}", "LC_ALL": "C.UTF-8", **env}
        done = subprocess.run(words, capture_output=True, env=whole, cwd=cwd, timeout=60)
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return self.got(done.returncode, out, err)

    def got(self, code: int = 0, out: str = "", err: str = "") -> Outcome:
        """What the stub launcher was given last."""
        return Outcome(code, out, err, self._argv(), self._environ(), self._read("cwd").rstrip("\n"))

    def run_config(self, config: RunConfig, **env: str | bytes) -> Outcome:
        return self.run(script(config), **env)

    def _read(self, name: str) -> str:
        path = self.bin / name
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""

    def _argv(self) -> list[str] | None:
        if not (self.bin / "argv").exists():
            return None
        words = self._read("argv").split("\0")[1:-1]  # without the interpreter of the stub
        return [Path(words[0]).name, *words[1:]]

    def _environ(self) -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self._read("environ").split("\0") if "=" in entry)


def stub(folder: Path, name: str) -> None:
    """A recording launcher in a folder."""
    path = folder / name
    path.write_text(STUB)
    path.chmod(0o755)


def script(config: RunConfig) -> str:
    """The exported bash of a config."""
    return bash.export(plan.build(config)).text


def recipe(*fields: Field, **more: object) -> Recipe:
    """A recipe of nothing but these fields, started by `python train.py`."""
    data = RecipeFile(
        schema=1, name="texts", title=Text("texts"), launcher="python", program={"python": Program(script="train.py")},
        shared=(), field=fields, needs_gpu=False, **more,  # type: ignore[arg-type]
    )  # fmt: skip
    return Recipe(data, fields, {}, "")


def text_field(key: str, kind: str = "str", **more: object) -> Field:
    return Field(key=key, type=kind, label=Text(key), group="data", flag=f"--{key}", **more)  # type: ignore[arg-type]
