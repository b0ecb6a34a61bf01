"""Writing an exported file: beside, fsynced, renamed; an existing one only after a yes to its diff."""

from __future__ import annotations

import difflib
import errno
import os
import stat
import sys
from pathlib import Path

from prl_tui import atomic, reasons, regular
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.i18n import t


def write(path: Path, text: str, executable: bool, overwrite: bool) -> int:
    """Write the file and say where; CommandError with a sentence when that is impossible or was refused."""
    kind = _kind(path)
    if stat.S_ISDIR(kind):
        raise CommandError(t("{path} is a directory; the name of a file is needed.", path=path))
    special = kind != 0 and not stat.S_ISREG(kind)  # /dev/stdout, a pipe: written to, never replaced
    old = None if special else _existing(path)
    if not overwrite:
        while old is not None and old != text:
            _ask(path, old, text)
            shown, old = old, _existing(path)
            if old == shown:
                break
            print(t("{path} has changed meanwhile.", path=path), file=sys.stderr)
    try:
        if special:
            _send(path, text.encode())
        else:
            atomic.write_behind(path, text, 0o755 if executable else 0o644)
    except OSError as error:
        reason = reasons.of(error)
        raise CommandError(
            t("{path} cannot be written: {reason}.", path=path, reason=reason), Exit.IMPOSSIBLE
        ) from None
    print(t("wrote {path}", path=path), file=sys.stderr)
    return Exit.OK


def _send(path: Path, data: bytes) -> None:
    """Write to a pipe or a device; one that nobody reads is not waited for, one whose reader is slow is."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO and path.is_fifo():
            told = t("{path} is a named pipe that nobody reads: start its reader first.", path=path)
            raise CommandError(told, Exit.IMPOSSIBLE) from None
        raise
    try:
        os.set_blocking(descriptor, True)
        while data:  # without a buffer: Ctrl-C ends the wait, and nothing is written at the end
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def diff(path: Path, old: str, new: str) -> str:
    """What would change, as a unified diff."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, str(path), t("{path} (new)", path=path)))


def _kind(path: Path) -> int:
    """The file's mode, or 0 where there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return 0
    except OSError as error:
        reason = reasons.of(error)
        raise CommandError(
            t("{path} cannot be written: {reason}.", path=path, reason=reason), Exit.IMPOSSIBLE
        ) from None


def _existing(path: Path) -> str | None:
    try:
        return regular.read_bytes(path).decode("utf-8", "replace")  # a batch file keeps its CRLF
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = reasons.of(error)
        raise CommandError(t("{path} cannot be read: {reason}.", path=path, reason=reason), Exit.IMPOSSIBLE) from None


def _ask(path: Path, old: str, text: str) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(t("{path} exists and differs; --overwrite replaces it.", path=path))
    sys.stderr.write(diff(path, old, text))
    print(t("Replace {path}? [y/N] ", path=path), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes", "是"}:
        raise CommandError(t("{path} stays as it is.", path=path))
