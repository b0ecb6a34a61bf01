"""Whether this box ends a person's processes when they log out, and how a run is kept from it.

With KillUserProcesses=yes systemd-logind kills what is in the session's scope, a supervisor with a session of its
own too, and lingering does not change that: only a process that lies under the user's own service manager goes on,
and that manager ends with the last session unless the user lingers. So a run needs both: a scope of its own
(`systemd-run --user --scope`) and `loginctl enable-linger`. Sources: logind.conf(5), systemd-run(1), loginctl(1);
logind itself is asked where it answers, since its built-in default differs between distributions.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.machine.doctor_item import Item
from prl_tui.machine.processes import user_name

WITHIN = 3.0
"""Seconds that logind may take to answer."""
_PLACES = ("usr/lib/systemd/logind.conf.d", "run/systemd/logind.conf.d", "etc/systemd/logind.conf.d")
_LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
_RULES = ("KillUserProcesses", "KillExcludeUsers", "KillOnlyUsers")
_IN_SESSION = re.compile(r"/session-[^/]+\.scope(/|$)", re.MULTILINE)
_IN_MANAGER = re.compile(r"/user@[0-9]+\.service(/|$)", re.MULTILINE)


class Logout(Value):
    """What a logout does to what is started here."""

    user: str
    kills: bool | None
    """Whether logind ends this user's session processes; None where it is not known."""
    lingers: bool
    """The user's service manager outlives the last session."""
    in_session: bool
    """This process lies in a session's scope, and so does what it starts."""
    in_manager: bool = False
    """It lies under the user's service manager."""

    @property
    def needs_scope(self) -> bool:
        """What is started here must leave the session's scope to go on."""
        return self.in_session and self.kills is True

    @property
    def needs_linger(self) -> bool:
        """What is started here ends with the last session."""
        return not self.lingers and (self.needs_scope or self.in_manager)

    @property
    def linger_fix(self) -> str:
        """What to do about that."""
        return t("`loginctl enable-linger {user}` lets runs go on.", user=self.user)


def at_logout(root: Path = Path("/"), user: str = "", cgroup: Path = Path("/proc/self/cgroup")) -> Logout:
    """What a logout will do here. Fast where there is no systemd, or no session that this process belongs to."""
    name = user or user_name(os.getuid()) or str(os.getuid())
    if not (root / "run/systemd/system").is_dir():
        return Logout(name, False, False, False)
    lingers = (root / "var/lib/systemd/linger" / name).exists()
    try:
        groups = cgroup.read_text("utf-8", "replace")
    except OSError:
        groups = ""
    in_session, in_manager = bool(_IN_SESSION.search(groups)), bool(_IN_MANAGER.search(groups))
    kills: bool | None = False
    if in_session:
        kills = from_logind(name) if root == Path("/") else None
        if kills is None:
            kills = from_files(root, name)
    return Logout(name, kills, lingers, in_session, in_manager)


def scope(unit: str) -> tuple[str, ...]:
    """The words before a command that give it a scope under the user's own service manager; () without systemd-run."""
    program = paths.which("systemd-run")
    return (program, "--user", "--scope", "--quiet", "--collect", f"--unit={unit}", "--") if program else ()


def item(root: Path = Path("/"), user: str = "", cgroup: Path = Path("/proc/self/cgroup")) -> Item:
    """What happens to a run at logout."""
    title = t("runs after logout")
    found = at_logout(root, user, cgroup)
    if not (root / "run/systemd/system").is_dir():
        return Item("session-end", title, t("no systemd here: nothing ends them"))
    if found.in_session and found.kills is None:
        fix = t("If runs vanish when you log out: `loginctl enable-linger {user}`.", user=found.user)
        return Item("session-end", title, t("not known: logind does not say"), "unknown", fix)
    if found.needs_scope and not scope("prl-tui"):
        told = t("are killed (KillUserProcesses=yes), and there is no systemd-run to keep them")
        return Item("session-end", title, told, "warning", t("Install systemd-run, or start runs from a service."))
    if found.needs_linger:
        told = t("are killed (KillUserProcesses=yes)") if found.needs_scope else t("end with your last session")
        return Item("session-end", title, told, "warning", found.linger_fix)
    if found.needs_scope:
        return Item("session-end", title, t("go on: each has a scope of its own, and {user} lingers", user=found.user))
    if found.in_session:
        return Item("session-end", title, t("go on (KillUserProcesses=no)"))
    return Item("session-end", title, t("go on: they do not belong to a login session"))


def from_logind(user: str) -> bool | None:
    """What logind does to a user, asked over its bus; None where it cannot be asked."""
    busctl = paths.which("busctl")
    if busctl is None:
        return None
    command = [busctl, "--no-pager", "get-property", *_LOGIND, *_RULES]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=WITHIN, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    if len(lines) != len(_RULES) or lines[0] not in {"b true", "b false"}:
        return None
    excluded, only = (re.findall(r'"([^"]*)"', line) for line in lines[1:])
    return _applies(lines[0] == "b true", user, excluded, only)


def from_files(root: Path, user: str) -> bool | None:
    """What logind.conf and its drop-ins say of a user, the last word wins; None where they say nothing."""
    said: dict[str, str] = {}
    files = [root / "etc/systemd/logind.conf"]
    for place in _PLACES:
        files += sorted((root / place).glob("*.conf"))
    for file in files:
        try:
            text = file.read_text("utf-8", "replace")
        except OSError:
            continue
        for name, value in re.findall(r"^[ \t]*(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE):
            said[name] = value
    kills = said.get("KillUserProcesses")
    if kills is None:
        return None
    excluded = said.get("KillExcludeUsers", "").split()
    return _applies(kills.lower() in {"yes", "true", "1", "on"}, user, excluded, said.get("KillOnlyUsers", "").split())


def _applies(kills: bool, user: str, excluded: list[str], only: list[str]) -> bool:
    """Excluded users are never meant, root where no name stands there; where some are named, only those (systemd 252)."""
    return kills and user not in (excluded or ["root"]) and (not only or user in only)
