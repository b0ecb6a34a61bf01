"""Everything that is installed in a training environment, by its own metadata: nothing is imported."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from prl_tui.machine.environment import MARK, answer_of

TIMEOUT = 60.0
"""Seconds: thousands of packages on a cold network disk."""

_SCRIPT = """
import sys
sys.path[:] = [p for p in sys.path if p]
import importlib.metadata as m, json
found, editable = {}, {}
for one in m.distributions():
    try:
        name = (one.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
        if not name or name in found:
            continue
        version = one.version or ""
        text = one.read_text("direct_url.json")
        url = json.loads(text) if text else {}
        commit = (url.get("vcs_info") or {}).get("commit_id")
        if commit:
            version += " @" + commit[:12]
        if (url.get("dir_info") or {}).get("editable"):
            editable[name] = url.get("url", "")
        found[name] = version
    except Exception:
        continue
print("\\n" + MARK + json.dumps({"python": ".".join(map(str, sys.version_info[:3])), "packages": found, "editable": editable}))
"""


@dataclass(frozen=True, slots=True)
class Packages:
    """What an interpreter finds installed."""

    interpreter: str
    python: str = ""
    """Its version."""
    versions: tuple[tuple[str, str], ...] = ()
    """Name → version, and ` @commit` behind it for one that came from a repository."""
    editable: tuple[tuple[str, str], ...] = ()
    """Name → the folder that it is imported from."""
    problem: str = ""


def ask(python: Path) -> Packages:
    """Ask an interpreter. Never raises; the problem is one line."""
    try:
        done = subprocess.run(
            [str(python), "-c", f"MARK = {MARK!r}{_SCRIPT}"],
            capture_output=True,
            timeout=TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        answer = answer_of(done.stdout)
        versions, editable = answer["packages"], answer["editable"]
        return Packages(
            str(python),
            str(answer["python"]),
            tuple(sorted((str(name), str(version)) for name, version in versions.items())),
            tuple(sorted((str(name), _folder(str(url))) for name, url in editable.items())),
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return Packages(str(python), problem=_reason(error))


def _reason(error: Exception) -> str:
    """Why there is no answer; never the script that was run."""
    if isinstance(error, subprocess.CalledProcessError):
        return f"exit code {error.returncode}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer in {TIMEOUT:.0f} s"
    return f"{type(error).__name__}: {error}"[:300]


def _folder(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else ""
