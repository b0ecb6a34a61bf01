"""Linux inside Windows: how it is known, and where Windows puts the NVIDIA library there."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

LIBRARY = "usr/lib/wsl/lib/libnvidia-ml.so.1"


def is_wsl(root: Path = Path("/")) -> bool:
    """Whether this kernel is Microsoft's, by `proc` under `root`."""
    for name in ("proc/version", "proc/sys/kernel/osrelease"):
        with contextlib.suppress(OSError):
            if "microsoft" in (root / name).read_text("utf-8", "replace").lower():
                return True
    return False


def load_library(root: Path = Path("/")) -> bool:
    """Load the library that Windows put there, for a loader that does not look there; whether it was found.

    Once it is in the process, the binding's own request for `libnvidia-ml.so.1` gets it, by that name.
    """
    try:
        ctypes.CDLL(str(root / LIBRARY))
    except OSError:
        return False
    return True
