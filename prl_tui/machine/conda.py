"""Where conda and its environments lie, found without an interactive shell: none of its variables need be set.

Sources: conda's own search (envs_dirs in .condarc, CONDA_ENVS_DIRS and CONDA_ENVS_PATH, ~/.conda/environments.txt) and
the places where its installers put it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from prl_tui import regular
from prl_tui.machine import paths

INSTALLED = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "conda", "miniconda", "anaconda")
SYSTEM = (
    "/opt/conda",
    "/opt/miniconda3",
    "/opt/anaconda3",
    "/opt/miniforge3",
    "/usr/local/miniconda3",
)
_HOOK = Path("etc") / "profile.d" / "conda.sh"


def find(name: str, hook: str, values: Mapping[str, str]) -> Path | None:
    """The folder of a conda environment by name or path; None where there is none. `values`: the environment."""
    if "/" in name:
        folder = paths.expanded(name)
        return folder if _python(folder) else None
    places = roots(hook, values) if name == "base" else (place / name for place in _places(hook, values))
    for folder in places:
        if _python(folder):
            return folder
    listed = (folder for folder in _listed(values) if folder.name == name)
    return next((folder for folder in listed if _python(folder)), None)


def names(values: Mapping[str, str], hook: str = "") -> list[str]:
    """The environments that `find` would find, by name, base first."""
    found = ["base"] if any(_python(root) for root in roots(hook, values)) else []
    for place in _places(hook, values):
        try:
            found += sorted(folder.name for folder in place.iterdir() if _python(folder))
        except OSError:
            continue
    found += [folder.name for folder in _listed(values) if _python(folder) and folder.parent.name == "envs"]
    return list(dict.fromkeys(found))


def hook_of(values: Mapping[str, str], hook: str = "") -> Path | None:
    """Conda's etc/profile.d/conda.sh, which teaches a plain shell `conda activate`."""
    if hook:
        return paths.expanded(hook)
    return next((root / _HOOK for root in roots("", values) if paths.is_file(root / _HOOK)), None)


def roots(hook: str, values: Mapping[str, str]) -> Iterator[Path]:
    """Where conda itself may be installed, the surest first; each exists."""
    home = Path(values.get("HOME", "/"))
    candidates: list[Path] = []
    if hook:
        candidates.append(paths.expanded(hook).parent.parent.parent)
    for variable in ("CONDA_EXE", "MAMBA_EXE"):
        if values.get(variable):
            candidates.append(Path(values[variable]).parent.parent)
    candidates += [Path(values[name]) for name in ("CONDA_ROOT", "MAMBA_ROOT_PREFIX") if values.get(name)]
    on_path = paths.which("conda", path=values.get("PATH", ""))
    if on_path:
        candidates.append(Path(os.path.realpath(on_path)).parent.parent)
    candidates += [home / name for name in INSTALLED]
    candidates += [Path(name) for name in SYSTEM]
    # An environment's own path tells where its conda is: …/envs/NAME.
    candidates += [folder.parent.parent for folder in _listed(values) if folder.parent.name == "envs"]
    for folder in dict.fromkeys(candidates):
        if paths.is_dir(folder):
            yield folder


def _places(hook: str, values: Mapping[str, str]) -> list[Path]:
    """Folders that hold environments."""
    home = Path(values.get("HOME", "/"))
    found = [Path(part) for name in ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH")
             for part in values.get(name, "").split(":") if part]  # fmt: skip
    found += [root / "envs" for root in roots(hook, values)]
    found.append(home / ".conda" / "envs")
    found += _from_condarc(home / ".condarc", home)
    return list(dict.fromkeys(found))


def _from_condarc(path: Path, home: Path) -> list[Path]:
    """The list envs_dirs of a .condarc. It is YAML; only this plain list is read."""
    block = re.search(r"^envs_dirs:[ \t]*\n((?:[ \t]*-[^\n]*\n?)+)", _read(path), re.MULTILINE)
    entries = re.findall(r"-[ \t]*[\"']?([^\"'#\n]+)", block[1]) if block else []
    return [home / entry.strip().removeprefix("~/") for entry in entries]


def _listed(values: Mapping[str, str]) -> list[Path]:
    """The environments that conda has written down, wherever they lie."""
    listed = _read(Path(values.get("HOME", "/")) / ".conda" / "environments.txt")
    return [Path(line.strip()) for line in listed.splitlines() if line.strip().startswith("/")]


def _python(folder: Path) -> bool:
    return paths.exists(folder / "bin" / "python")


def _read(path: Path) -> str:
    try:
        return regular.read_text(path, "replace")
    except OSError:
        return ""
