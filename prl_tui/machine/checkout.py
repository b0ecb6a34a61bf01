"""A git checkout at one moment: its commit, and what stands in it beyond that, as a hash and a bounded patch.

Git is only read: no index is refreshed, nothing is fetched, and no hook, file monitor, external diff or textconv of the
repository's runs. Its clean filters do (git-lfs, nbstripout), on files that look changed: without them an unchanged file
differs from what git stored of it. They have as long as git has, and end with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PATCH_MOST = 1 << 20
"""Bytes of a patch that are kept; the hash is of all of it."""
UNTRACKED_MOST = 200
HASHED_MOST = 1 << 20
"""Bytes of an untracked file whose content is hashed; of a larger one the size tells."""
TIMEOUT = 20.0
"""Seconds for one question to git."""
_QUIET = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
    "-c", "protocol.allow=never",  # a partial clone would fetch what a diff needs
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checkout:
    """What one folder's repository holds."""

    root: str
    """The top of the working tree; the folder itself where there is none."""
    commit: str = ""
    branch: str = ""
    dirty: tuple[str, ...] = ()
    """Changed tracked files."""
    diff_sha256: str = ""
    """Of the whole diff to the commit; "" for none."""
    diff_bytes: int = 0
    untracked: tuple[tuple[str, str], ...] = ()
    """Name and content's hash, or `N bytes`; files that git ignores don't count."""
    untracked_more: int = 0
    """Untracked files beyond those that are listed."""
    problem: str = ""
    """Why nothing more is known: git's last words."""
    patch: bytes = b""
    """The diff's beginning."""


def look(folder: Path) -> Checkout | None:
    """The checkout that holds a folder; None where there is none. Never raises."""
    try:
        found = _git(folder, "rev-parse", "--show-toplevel")
    except OSError:
        return None  # no git here
    if isinstance(found, str):
        return None if "not a git repository" in found else Checkout(str(folder), problem=found)
    root = Path(os.fsdecode(found[0].rstrip(b"\n")))
    try:
        return _look(root)
    except (OSError, subprocess.SubprocessError) as error:
        return Checkout(str(root), problem=str(error))


def _look(root: Path) -> Checkout:
    commit = _words(root, "rev-parse", "--verify", "HEAD")
    branch = _words(root, "symbolic-ref", "--short", "HEAD")
    base = commit or _words(root, "hash-object", "-t", "tree", "/dev/null")
    diff = _git(root, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", base)
    if isinstance(diff, str):
        return Checkout(str(root), commit, branch, problem=diff)
    patch, digest, size = diff
    names = _names(root, "diff", "--no-ext-diff", "--no-textconv", "--name-only", "-z", base) if size else []
    others = _names(root, "ls-files", "--others", "--exclude-standard", "-z")
    return Checkout(
        str(root),
        commit,
        branch,
        tuple(names),
        digest if size else "",
        size,
        tuple((name, _content(root / name)) for name in others[:UNTRACKED_MOST]),
        max(0, len(others) - UNTRACKED_MOST),
        patch=patch,
    )


def _content(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        size = path.stat().st_size
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if size <= HASHED_MOST else f"{size} bytes"
    except OSError:
        return ""


def _words(root: Path, *arguments: str) -> str:
    found = _git(root, *arguments)
    return "" if isinstance(found, str) else found[0].decode("utf-8", "replace").strip()


def _names(root: Path, *arguments: str) -> list[str]:
    found = _git(root, *arguments)
    if isinstance(found, str):
        return []
    return [name.decode("utf-8", "replace") for name in found[0].split(b"\0") if name]


def _git(folder: Path, *arguments: str) -> tuple[bytes, str, int] | str:
    """The beginning of what git says, the hash and the size of all of it; its last words where it refuses."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # a hook's variables would mean another repository
        environment.pop(name, None)
    process = subprocess.Popen(
        ["git", *_QUIET, "-C", str(folder), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        try:
            kept, digest, size, said = _drain(process)
        except TimeoutError:
            _kill(process)
            return f"git {arguments[0]}: no answer within {TIMEOUT:.0f} s"
        except BaseException:
            _kill(process)
            raise
        code = process.wait()
    if code != 0:
        lines = said.decode("utf-8", "replace").strip().splitlines()
        return (lines[0] if lines else f"git {arguments[0]}: exit code {code}")[:300]
    return kept, digest, size


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Git and the filters that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _drain(process: subprocess.Popen[bytes]) -> tuple[bytes, str, int, bytes]:
    """Read both of its streams to their ends, keeping a bounded part of each. TimeoutError when it takes too long."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = process.stdout.fileno(), process.stderr.fileno()
    kept, said, size = bytearray(), bytearray(), 0
    digest = hashlib.sha256()
    until = time.monotonic() + TIMEOUT
    open_ones = [output, errors]
    while open_ones:
        ready = select.select(open_ones, [], [], max(0.0, until - time.monotonic()))[0]
        if not ready:
            raise TimeoutError
        for descriptor in ready:
            part = os.read(descriptor, 1 << 16)
            if not part:
                open_ones.remove(descriptor)
            elif descriptor == output:
                size += len(part)
                digest.update(part)
                kept += part[: PATCH_MOST - len(kept)]
            else:
                said += part[: 4096 - len(said)]
    return bytes(kept), digest.hexdigest(), size, bytes(said)


def file_hash(path: Path) -> str:
    """A file's content, short; "" where it cannot be read."""
    with contextlib.suppress(OSError):
        return _content(path)
    return ""
