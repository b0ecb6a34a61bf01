"""Where this process lives: host, boot and PID namespace. A pid means nothing outside of these three."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def here() -> Mapping[str, str]:
    """`host`, `boot_id` and `pid_namespace` of this process; what the system hides is an empty string."""
    return {"host": _host(), "boot_id": _boot_id(), "pid_namespace": _pid_namespace()}


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else ""


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115  (not a path: "pid:[4026531836]")
    except OSError:
        return ""


def is_of_this_namespace(pid: int) -> bool:
    """A container's process can be seen from its host, where its own run's records mean other numbers."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") == here()["pid_namespace"]  # noqa: PTH115  (not a path)
    except OSError:  # gone, or not ours to look at
        return False
