"""The training environment: which Python a command will find, and which engines are installed there.

Asked in a process of that Python, by its package metadata (nothing is imported), and remembered until its
site-packages change.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prl_tui import atomic, regular
from prl_tui.core.config import RunConfig
from prl_tui.core.plan import Activation, LaunchPlan, build
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.machine import conda, paths

PACKAGES = ("torch", "ms-swift", "trl", "transformers", "accelerate", "deepspeed", "vllm", "flash-attn", "pynvml")
TIMEOUT = 20.0
"""Seconds that a probe may take."""
MARK = "prl-tui-answer:"
"""How the line begins that is an answer."""
_SHAPE = 5
"""Of what is remembered; older entries are asked again."""

# torch/version.py is read, not run: importing torch takes seconds. NCCL comes as a wheel beside torch's.
_SCRIPT = """
import sys
sys.path[:] = [p for p in sys.path if p]
import importlib.metadata as m, importlib.util, json, os, re, site, sys, sysconfig
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
nccl = ""
for one in m.distributions():
    name = (one.metadata["Name"] or "").lower().replace("_", "-")
    if name.startswith("nvidia-nccl-cu"):
        nccl = one.version
cuda = ""
spec = importlib.util.find_spec("torch")
for place in (spec.submodule_search_locations or []) if spec else []:
    try:
        text = open(os.path.join(place, "version.py"), encoding="utf-8").read()
    except OSError:
        continue
    said = re.search(r"^cuda\\s*(?::[^=]+)?=\\s*'([^']*)'", text, re.M)
    cuda = said.group(1) if said else "cpu"
given = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *given, *[p for p in sys.path if p.endswith("-packages")]}
if site.ENABLE_USER_SITE:
    places.add(site.getusersitepackages())
print("\\n" + MARK + json.dumps({"python": ".".join(map(str, sys.version_info[:3])), "versions": found, "cuda": cuda,
                                 "nccl": nccl, "places": sorted(p for p in places if p)}))
"""


class Environment(Value):
    """What is installed in a training environment."""

    python: str
    """Path of its interpreter."""
    version: str = ""
    """Of Python itself."""
    versions: Mapping[str, str] = {}
    """Package → installed version."""
    cuda: str = ""
    """CUDA that torch was built for, such as `12.8`; `cpu` for a build without, "" without torch."""
    nccl: str = ""
    """Version of the NCCL wheel; "" where torch has it built in, or there is none."""
    places: tuple[str, ...] = ()
    """Where its packages lie."""

    def words(self) -> str:
        """`torch 2.8.0 (CUDA 12.8, NCCL 2.27.3) · ms-swift 3.3.0 · trl 0.17.0`."""
        shown = []
        for name in PACKAGES[:4]:
            if name in self.versions:
                shown.append(
                    f"{name} {self.versions[name].partition('+')[0]}{self._build() if name == 'torch' else ''}"
                )
        return " · ".join(shown) or f"Python {self.version}"

    def _build(self) -> str:
        parts = ["CPU" if self.cuda == "cpu" else f"CUDA {self.cuda}" if self.cuda else ""]
        parts.append(f"NCCL {self.nccl}" if self.nccl else "")
        said = listed(part for part in parts if part)
        return f" ({said})" if said else ""


def label(activation: Activation) -> str:
    """What a person calls it: the conda name, the folder, the interpreter, `PATH`, or prl-tui's own."""
    return t("this environment") if activation.kind == "this" else activation.name or "PATH"


def title(activation: Activation) -> str:
    """`environment torch-2.8`, or `this environment`, as a line about it begins."""
    named = label(activation)
    return named if activation.kind == "this" else t("environment {words}", words=named)


def interpreter(activation: Activation, environment: Mapping[str, str] | None = None) -> Path | None:
    """The Python that a command of this activation finds; None where there is none."""
    values = os.environ if environment is None else environment
    if activation.kind == "this":
        return Path(sys.executable)
    if activation.kind == "python":
        return _existing(paths.expanded(activation.name))
    if activation.kind == "venv":
        return _existing(paths.expanded(activation.name) / "bin" / "python")
    if activation.kind == "conda":
        folder = conda.find(activation.name, activation.hook, values)
        return folder / "bin" / "python" if folder is not None else None
    found = paths.which("python", path=values.get("PATH")) or paths.which("python3", path=values.get("PATH"))
    return Path(found) if found else None


def _existing(path: Path) -> Path | None:
    return path if paths.exists(path) else None


def lacks(plan: LaunchPlan, python: Path | None, environment: Mapping[str, str] | None = None) -> str:
    """The program that starts the ranks, where the environment has none of its own: PATH would give another's.

    "" where it is there. Without an environment it is what PATH gives.
    """
    program = plan.argv[0] if plan.argv else ""
    if not program or "/" in program:
        return ""
    if plan.activation.kind and python is not None:
        return "" if paths.exists(python.parent / program) else program
    values = os.environ if environment is None else environment
    return "" if paths.which(program, path=values.get("PATH")) else program


VERSION_FILES = {"swift": ("ms-swift", "swift/version.py")}
"""Top module → its package, and the file of a checkout that says its version."""


def beside(config: RunConfig, folder: Path) -> dict[str, str]:
    """Packages that lie in the working directory: `-m swift.cli.rlhf` takes those before the installed ones."""
    plan = build(config)
    found: dict[str, str] = {}
    for before, module in zip(plan.argv, plan.argv[1:], strict=False):
        package, file = VERSION_FILES.get(module.partition(".")[0], ("", ""))
        if before == "-m" and package:
            with contextlib.suppress(OSError):
                said = re.search(r"""__version__ = ['"]([^'"]+)""", regular.read_text(folder / file, "replace"))
                found |= {package: said[1]} if said else {}
    return found


def probe(activation: Activation, environment: Mapping[str, str] | None = None) -> Environment | None:
    """What is installed there; None where there is no such interpreter or it gives no answer."""
    python = interpreter(activation, environment)
    if python is None:
        return None
    kept = paths.cache_dir() / "environments.json"
    known = _read(kept)
    entry = known.get(str(python))
    if isinstance(entry, dict) and entry.get("shape") == _SHAPE and entry.get("given") == _given():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            remembered = _of(python, entry["found"])
            if entry.get("stamp") == _stamp(python, remembered.places):
                return remembered
    found = _ask(python)
    if found is not None:
        made, answer = found
        entry = {"shape": _SHAPE, "given": _given(), "stamp": _stamp(python, made.places), "found": answer}
        _remember(kept, {**known, str(python): entry})
        return made
    return None


def _ask(python: Path) -> tuple[Environment, dict[str, object]] | None:
    # Not isolated: the run finds what PYTHONPATH and a person's own site-packages add.
    command = [str(python), "-c", f"MARK = {MARK!r}{_SCRIPT}", *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True, stdin=subprocess.DEVNULL)
        answer = answer_of(done.stdout)
        return _of(python, answer), answer
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, IndexError):
        return None


def answer_of(output: bytes) -> Any:
    """What a script printed behind `MARK`; an interpreter's own start-up files may print before and after it."""
    lines = [line for line in output.splitlines() if line.startswith(MARK.encode())]
    return json.loads(lines[-1].removeprefix(MARK.encode()))


def _of(python: Path, answer: Mapping[str, object]) -> Environment:
    versions, places = answer["versions"], answer["places"]
    if not isinstance(versions, dict) or not isinstance(places, list):
        raise TypeError("versions")
    return Environment(
        str(python),
        str(answer["python"]),
        {str(name): str(version) for name, version in versions.items()},
        str(answer["cuda"]),
        str(answer["nccl"]),
        tuple(str(place) for place in places),
    )


def _given() -> list[str]:
    """What the environment adds to an interpreter's own packages, or takes from them."""
    added = [str(Path(one).absolute()) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    return [*added, *(os.environ.get(name, "") for name in ("PYTHONNOUSERSITE", "PYTHONUSERBASE", "PYTHONHOME"))]


def _stamp(python: Path, places: tuple[str, ...]) -> list[float]:
    """Moments at which the interpreter and its packages last changed."""
    found = []
    for path in [python, *map(Path, places)]:
        try:
            found.append(path.stat().st_mtime)
        except OSError:
            found.append(0.0)
    return found


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text("utf-8")) if paths.is_file(path) else {}  # a pipe would be waited for
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(path: Path, entries: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(path, entries)
