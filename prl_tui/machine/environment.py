"""The training environment: which Python a command will find, and which engines are installed there.

Asked in a process of that Python, by its package metadata (nothing is imported), and remembered until its
site-packages change.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from prl_tui import atomic
from prl_tui.core.plan import Activation
from prl_tui.core.value import Value
from prl_tui.machine import paths

PACKAGES = ("torch", "ms-swift", "trl", "transformers", "accelerate", "deepspeed", "vllm", "flash-attn")
TIMEOUT = 20.0
"""Seconds that a probe may take."""

_SCRIPT = """
import importlib.metadata as m, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps({"python": ".".join(map(str, sys.version_info[:3])), "versions": found}))
"""


class Environment(Value):
    """What is installed in a training environment."""

    python: str
    """Path of its interpreter."""
    version: str = ""
    """Of Python itself."""
    versions: Mapping[str, str] = {}
    """Package → installed version."""

    def words(self) -> str:
        """`torch 2.8.0 · trl 0.17.0 · ms-swift 3.3.0`."""
        shown = [f"{name} {version}" for name, version in self.versions.items() if name in PACKAGES[:4]]
        return " · ".join(shown)


def interpreter(activation: Activation, environment: Mapping[str, str] | None = None) -> Path | None:
    """The Python that a command of this activation finds; None where there is none."""
    values = os.environ if environment is None else environment
    if activation.kind == "this":
        return Path(sys.executable)
    if activation.kind == "venv":
        return _existing(paths.expanded(activation.name) / "bin" / "python")
    if activation.kind == "conda":
        return _conda(activation, values)
    found = shutil.which("python", path=values.get("PATH")) or shutil.which("python3", path=values.get("PATH"))
    return Path(found) if found else None


def _conda(activation: Activation, values: Mapping[str, str]) -> Path | None:
    if "/" in activation.name:
        return _existing(paths.expanded(activation.name) / "bin" / "python")
    roots = []
    if activation.hook:
        roots.append(paths.expanded(activation.hook).parent.parent.parent)
    if values.get("CONDA_EXE"):
        roots.append(Path(values["CONDA_EXE"]).parent.parent)
    roots.append(Path(values.get("HOME", "/")) / ".conda")
    for root in roots:
        base = (
            root / "bin" / "python" if activation.name == "base" else root / "envs" / activation.name / "bin" / "python"
        )
        if _existing(base):
            return base
    return None


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None


def probe(activation: Activation, environment: Mapping[str, str] | None = None) -> Environment | None:
    """What is installed there; None where there is no such interpreter or it gives no answer."""
    python = interpreter(activation, environment)
    if python is None:
        return None
    kept = paths.cache_dir() / "environments.json"
    stamp = _stamp(python)
    known = _read(kept)
    entry = known.get(str(python))
    if isinstance(entry, dict) and entry.get("stamp") == stamp:
        return Environment(str(python), str(entry.get("version", "")), dict(entry.get("versions", {})))
    found = _ask(python)
    if found is not None:
        _remember(
            kept, {**known, str(python): {"stamp": stamp, "version": found.version, "versions": dict(found.versions)}}
        )
    return found


def _ask(python: Path) -> Environment | None:
    command = [str(python), "-I", "-c", _SCRIPT, *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=True, stdin=subprocess.DEVNULL)
        answer = json.loads(done.stdout)
        return Environment(str(python), str(answer["python"]), dict(answer["versions"]))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None


def _stamp(python: Path) -> list[float]:
    """Moments at which its packages last changed."""
    folders = sorted(python.parent.parent.glob("lib/python3*/site-packages"))
    found = []
    for path in [python, *folders]:
        try:
            found.append(path.stat().st_mtime)
        except OSError:
            found.append(0.0)
    return found


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(path: Path, entries: dict[str, object]) -> None:
    import contextlib

    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(path, entries)
