"""How a Python child of this program starts and ends.

A child must find this very package, must not find the modules that happen to lie in the working directory (a
training folder may hold a `json.py` or a `pynvml.py`), and must not outlive its parent.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from prl_tui.machine import paths

_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
_BOOT = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "root = sys.argv[1]; root in sys.path or sys.path.insert(0, root); "
    "from {module} import main; sys.exit(main(sys.argv[2:]))"
)
_LIGHT_BOOT = (
    "import sys; end = int(sys.argv[1]) + 2; "
    "sys.path[:] = [*filter(None, sys.path), *sys.argv[2:end]]; "
    "from {module} import main; sys.exit(main(sys.argv[end:]))"
)
_PR_SET_PDEATHSIG = 1


def python_argv(module: str, *arguments: str) -> list[str]:
    """The command that runs `module.main(arguments)` in a fresh interpreter of the same installation.

    Unlike `python -m`, it keeps the working directory out of the import path.
    """
    return [sys.executable, "-c", _BOOT.format(module=module), _PACKAGE_PARENT, *arguments]


def light_argv(module: str, *arguments: str, needs: tuple[str, ...]) -> list[str]:
    """The same for a child that uses the standard library and no other package than `needs`: it starts without `site`.

    A training environment's `.pth` files may import for 50 ms at every start. Where one of `needs` is not found in a
    folder of this process's import path, it is `python_argv`'s command.
    """
    folders = [_PACKAGE_PARENT, *map(_folder_of, needs)]
    if None in folders:
        return python_argv(module, *arguments)
    behind = list(dict.fromkeys(str(folder) for folder in folders))
    return [sys.executable, "-S", "-c", _LIGHT_BOOT.format(module=module), str(len(behind)), *behind, *arguments]


def _folder_of(module: str) -> str | None:
    """The folder of the import path in which a module lies; the working directory is none of them."""
    here = str(paths.here())
    spec = PathFinder.find_spec(module, [path for path in sys.path if path not in ("", here)])
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin).parent
    return str(place if spec.submodule_search_locations is None else place.parent)


def die_with_parent(parent: int | None = None) -> bool:
    """Ask the kernel to kill this process when the thread that started it ends; False if the parent is gone.

    `parent` is the pid that the starter knows itself by: it shows a parent that died before this call.
    """
    import ctypes  # not paid for by those who only start children
    import signal

    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    return parent is None or os.getppid() == parent
