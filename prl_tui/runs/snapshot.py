"""What a run was made of: code, packages, host, GPUs and environment, beside the plan that run.json keeps.

    stdin: {"environment": {…}} → writes RUN_DIR/snapshot.json and RUN_DIR/code-N.patch

Written by a process of its own, which the recorder starts a second after the run, so that neither waits for it. Each part
is written as soon as it is known; a driver that hangs costs the names of the GPUs, nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prl_tui import atomic
from prl_tui.core import secrets
from prl_tui.core.plan import Activation
from prl_tui.machine import checkout, environment, host, packages, paths
from prl_tui.machine.checkout import Checkout
from prl_tui.runs import records
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.records import Broken

FILE = "snapshot.json"
PATCH = "code-{n}.patch"
CHECKOUTS = 8
"""Repositories that are looked at: the working directory's, the program's, those of editable packages."""
LONGEST = 4096
"""Characters of a variable that are kept."""
_NOISE = ("LS_COLORS", "LSCOLORS", "BASH_FUNC_", "PS1", "PS2", "PROMPT", "TERMCAP", "_")
"""How variables begin that say nothing about a run."""


def read(folder: RunFolder) -> dict[str, Any] | Broken | None:
    """What is known of a run's making; None where nothing was written down."""
    return records.read_record(folder.path / FILE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect for the run whose folder is the argument; 0 also where something could not be known."""
    words = sys.argv[1:] if arguments is None else arguments
    folder = RunFolder(Path(words[0]))
    if (folder.path / FILE).exists():  # by the run's first recorder: this one has been started again
        return 0
    given = json.loads(sys.stdin.buffer.read() or b"{}").get("environment")
    try:
        collect(folder, given if isinstance(given, dict) else {})
    except OSError as error:  # a full disk, a folder that was removed: the run is none the worse
        print(error, file=sys.stderr)
    return 0


def collect(folder: RunFolder, given: Mapping[str, str]) -> None:
    """Write the snapshot, part by part; `given` is the environment that the run got. OSError from the folder."""
    info = folder.info()
    known = info if isinstance(info, dict) else {}
    base = Path(str(known.get("cwd") or folder.path))
    found: dict[str, Any] = {"taken": time.time(), "host": _host(), "environment": _kept(given, known)}

    def write(**parts: object) -> None:
        found.update(parts)
        if folder.path.is_dir():
            records.write_record(folder.path / FILE, found)

    write()
    wanted = [base, *_programs(known, base)]
    seen: dict[str, Checkout] = {}
    write(code=_code(folder, wanted, seen), program=_hashes(_programs(known, base)))
    python = environment.interpreter(_activation(known), given or None)
    if python is not None:
        installed = packages.ask(python)
        own = [Path(place) for _, place in installed.editable if place]
        write(packages=_packages(installed), code=_code(folder, [*wanted, *own], seen))
    else:
        write(packages={"interpreter": "", "problem": "no interpreter", "versions": {}, "editable": {}})
    write(gpus=_gpus())


def _host() -> dict[str, Any]:
    box, system = host.host(), os.uname()
    return {
        "name": box.name,
        "kernel": system.release,
        "machine": system.machine,
        "cpus": box.cpus,
        "memory": box.memory.total if box.memory else None,
        "shm": box.shm.total if box.shm else None,
        "boot_id": box.boot_id,
        "user": _user(),
    }


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _kept(given: Mapping[str, str], known: Mapping[str, object]) -> dict[str, str]:
    """The environment without the plan's own variables, which run.json has, and without secrets."""
    own = known.get("env")
    names = set(own) if isinstance(own, dict) else set()
    return {
        name: secrets.hidden_value(name, value)[:LONGEST]
        for name, value in sorted(given.items())
        if name not in names and not name.startswith(_NOISE[:-1]) and name != _NOISE[-1]
    }


def _programs(known: Mapping[str, object], base: Path) -> list[Path]:
    """Files of the command that are there: the training script, its config files."""
    words = known.get("argv")
    found = []
    for word in words if isinstance(words, list) else ():
        text = str(word).rpartition("=")[2]
        if text.endswith((".py", ".yaml", ".yml", ".json", ".toml", ".sh")) and paths.is_file(base / text):
            found.append(base / text)
    return list(dict.fromkeys(found))[:20]


def _hashes(files: Sequence[Path]) -> dict[str, str]:
    return {str(path): checkout.file_hash(path) for path in files}


def _code(folder: RunFolder, places: Sequence[Path], seen: dict[str, Checkout]) -> list[dict[str, Any]]:
    """Each repository once; its patch in a file of its own, with keys hidden."""
    for place in places:
        at = place if paths.is_dir(place) else place.parent
        if len(seen) >= CHECKOUTS or any(at.is_relative_to(root) for root in seen):
            continue
        found = checkout.look(at)
        if found is not None and found.root not in seen:
            seen[found.root] = found
            if found.patch:
                _write_patch(folder, len(seen) - 1, found.patch)
    return [_checkout(n, one) for n, one in enumerate(seen.values())]


def _write_patch(folder: RunFolder, n: int, patch: bytes) -> None:
    text = secrets.hidden_code(patch.decode("utf-8", "surrogateescape"))
    atomic.write_bytes(folder.path / PATCH.format(n=n), text.encode("utf-8", "surrogateescape"), 0o600)


def _checkout(n: int, one: Checkout) -> dict[str, Any]:
    return {
        "root": one.root,
        "commit": one.commit,
        "branch": one.branch,
        "dirty": list(one.dirty),
        "diff_sha256": one.diff_sha256,
        "diff_bytes": one.diff_bytes,
        "patch": PATCH.format(n=n) if one.patch else "",
        "patch_whole": one.diff_bytes <= checkout.PATCH_MOST,
        "untracked": dict(one.untracked),
        "untracked_more": one.untracked_more,
        "problem": one.problem,
    }


def _packages(found: packages.Packages) -> dict[str, Any]:
    return {
        "interpreter": found.interpreter,
        "python": found.python,
        "versions": dict(found.versions),
        "editable": dict(found.editable),
        "problem": found.problem,
    }


def _activation(known: Mapping[str, object]) -> Activation:
    kept = known.get("activation")
    kept = kept if isinstance(kept, dict) else {}
    return Activation(str(kept.get("kind") or ""), str(kept.get("name") or ""), str(kept.get("hook") or ""))


def _gpus() -> dict[str, Any]:
    from prl_tui.machine.gpu_feed import once

    seen = once()
    return {
        "driver": seen.driver,
        "cuda": seen.cuda,
        "problem": seen.fault.code if seen.fault else "",
        "list": [{"index": gpu.index, "uuid": gpu.uuid, "name": gpu.name} for gpu in seen.gpus],
    }


if __name__ == "__main__":
    sys.exit(main())
