"""The level that a log line itself has, as Python's logging, loguru, glog, NCCL and `warnings` write it."""

from __future__ import annotations

import re
from typing import Literal

from prl_tui.telemetry.error_lines import ERROR_TRIGGER, is_error

Level = Literal["error", "warning", "info"]
LEVELS: tuple[Level, ...] = ("error", "warning", "info")
"""The gravest first."""

WARNING_TRIGGER = rb"WARN|Warning(?::|\s*$)|warning: |W\d{4} \d\d:\d\d:"
INFO_TRIGGER = rb"INFO|I\d{4} \d\d:\d\d:"
TRIGGERS: dict[Level, re.Pattern[bytes]] = {
    "error": re.compile(ERROR_TRIGGER, re.MULTILINE),
    "warning": re.compile(WARNING_TRIGGER, re.MULTILINE),
    "info": re.compile(INFO_TRIGGER, re.MULTILINE),
}
"""Found in the bytes of every line that has the level."""

_WARNING = re.compile(
    r"(?:^|[\s\[|(:])WARN(?:ING)?(?:[\s\]|:)]|$)"  # logging, loguru, ms-swift, vLLM, NCCL
    r"|(?:^|[\s.\]:])\w*Warning(?::|\s*$)"  # the warnings module, torch
    r"|(?:^|\s)warning: "  # compilers
    r"|(?:^|\[|│ )W\d{4} \d\d:\d\d:"  # glog, torch's C++
)
_INFO = re.compile(r"(?:^|[\s\[|(:])INFO(?:[\s\]|:)]|$)|(?:^|\[|│ )I\d{4} \d\d:\d\d:")


def level_of(text: str) -> Level | None:
    """The level of a plain line; None where it has none, as bars and the lines of a traceback."""
    if is_error(text):
        return "error"
    if _WARNING.search(text) is not None:
        return "warning"
    return "info" if _INFO.search(text) is not None else None
