"""What NVML's refusals mean: from error numbers, and from what the box shows, to fault and reason codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.wsl import is_wsl

if TYPE_CHECKING:
    from types import ModuleType

NO_LIBRARY = 12
"""NVML's number for a library that is not found."""
TRY_ANOTHER = ("driver-too-old", "binding-too-old")
"""Reasons after which an older call may still answer."""

_NEEDED = ("nvmlInit", "NVMLError", "nvmlMemory_v2", "nvmlDeviceGetCurrentClocksEventReasons")
_REASONS = {
    3: "not-supported",
    4: "no-permission",
    6: "not-supported",
    10: "timeout",
    13: "driver-too-old",
    15: "lost",
    16: "reset-required",
    25: "driver-too-old",
    26: "driver-too-old",
    28: "lost",
    999: "unknown-error",
}
_FAULTS = {
    4: "no-permission",
    9: "driver-not-loaded",
    15: "lost",
    16: "reset-required",
    999: "unknown-error",
}


def load_binding() -> ModuleType | GpuFault:
    """nvidia-ml-py's `pynvml`, or why it cannot be used."""
    try:
        import pynvml  # 30 ms of CPU, and not needed to hold a snapshot
    except ImportError:
        return GpuFault("binding-missing")
    except Exception as error:  # a file of that name may hold and do anything
        return GpuFault("binding-shadowed", {"path": str(getattr(error, "filename", None) or "pynvml.py")})
    if all(hasattr(pynvml, name) for name in _NEEDED):
        found: ModuleType = pynvml
        return found
    return GpuFault("binding-shadowed", {"path": str(getattr(pynvml, "__file__", None) or "pynvml")})


def reason(error: Exception) -> str:
    """The reason code of one refused value."""
    number = getattr(error, "value", None)
    if isinstance(number, int):
        return _REASONS.get(number, f"nvml-{number}")
    if type(error).__name__ == "NVMLLibraryMismatchError":  # a versioned call that the driver's library lacks
        return "driver-too-old"
    if isinstance(error, AttributeError):
        return "binding-too-old"
    # Also a name that is no UTF-8 or a structure of another version.
    return "implausible" if isinstance(error, (ValueError, TypeError)) else "unknown-error"


def of_library(error: Exception, root: Path = Path("/")) -> GpuFault:
    """Why the library as a whole refuses; `root` is where `proc` and `dev` are looked for."""
    number = getattr(error, "value", None)
    if number == NO_LIBRARY:
        return GpuFault(_no_library(root))
    if number == 18:
        return GpuFault("version-mismatch", _versions(root))
    return GpuFault(_FAULTS.get(number, "other") if isinstance(number, int) else "other", {"message": str(error)})


def _no_library(root: Path) -> str:
    if is_wsl(root):
        return "wsl"
    if (root / "proc/driver/nvidia/version").exists() or (root / "dev/nvidiactl").exists():
        return "library-missing"
    return "no-driver"


def _versions(root: Path) -> dict[str, str]:
    """Versions of the loaded kernel driver and of the library in this process, where both can be seen."""
    kernel = re.search(r"Kernel Module\s+(?:for \S+\s+)?(\d+(?:\.\d+)+)", _read(root / "proc/driver/nvidia/version"))
    library = re.search(r"libnvidia-ml\.so\.(\d+(?:\.\d+)+)", _read(root / "proc/self/maps"))
    return {"kernel": kernel[1], "library": library[1]} if kernel and library else {}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
