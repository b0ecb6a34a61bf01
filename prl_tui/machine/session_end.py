"""Whether this box ends a person's processes when they log out: systemd-logind's KillUserProcesses.

A supervisor with a session of its own is killed all the same; lingering is what saves it. Sources: logind.conf(5),
loginctl(1); logind itself is asked where it answers, since its built-in default differs between distributions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from prl_tui.i18n import t
from prl_tui.machine.doctor_item import Item
from prl_tui.machine.processes import user_name

WITHIN = 3.0
"""Seconds that logind may take to answer."""
_PLACES = ("usr/lib/systemd/logind.conf.d", "run/systemd/logind.conf.d", "etc/systemd/logind.conf.d")


def item(root: Path = Path("/"), user: str = "") -> Item:
    """What happens to a run at logout."""
    title = t("runs after logout")
    if not (root / "run/systemd/system").is_dir():
        return Item("session-end", title, t("no systemd here: nothing ends them"))
    name = user or user_name(os.getuid()) or str(os.getuid())
    if (root / "var/lib/systemd/linger" / name).exists():
        return Item("session-end", title, t("go on: {user} lingers", user=name))
    kills = from_logind() if root == Path("/") else None
    if kills is None:
        kills = from_files(root)
    if kills is None:
        fix = t("If runs vanish when you log out: `loginctl enable-linger {user}`.", user=name)
        return Item("session-end", title, t("not known: logind does not say"), "unknown", fix)
    if kills:
        fix = t("`loginctl enable-linger {user}` lets them go on.", user=name)
        return Item("session-end", title, t("are killed (KillUserProcesses=yes)"), "warning", fix)
    return Item("session-end", title, t("go on (KillUserProcesses=no)"))


def from_logind() -> bool | None:
    """What logind does, asked over its bus; None where it cannot be asked."""
    busctl = shutil.which("busctl")
    if busctl is None:
        return None
    where = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
    command = [busctl, "--no-pager", "get-property", *where, "KillUserProcesses"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=WITHIN, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"b true": True, "b false": False}.get(done.stdout.strip())


def from_files(root: Path) -> bool | None:
    """What logind.conf and its drop-ins say, the last word wins; None where they say nothing."""
    said = None
    files = [root / "etc/systemd/logind.conf"]
    for place in _PLACES:
        files += sorted((root / place).glob("*.conf"))
    for file in files:
        try:
            text = file.read_text("utf-8", "replace")
        except OSError:
            continue
        for word in re.findall(r"^[ \t]*KillUserProcesses[ \t]*=[ \t]*(\w+)", text, re.MULTILINE):
            said = word.lower() in {"yes", "true", "1", "on"}
    return said
