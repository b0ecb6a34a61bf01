"""Opens a file that a person names, and nothing else: a pipe, a socket or a device would be waited for, or never ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from prl_tui.i18n import t


class NotAFileError(OSError):
    """What lies at the path is there, but is no file; `strerror` says what it is."""


def opened(path: Path) -> BinaryIO:
    """A regular file, open for reading bytes. OSError where there is none; never waits for another process."""
    _refuse(os.stat(path).st_mode, path)  # noqa: PTH116  (before it is opened: opening a device can already do something)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _refuse(os.fstat(descriptor).st_mode, path)  # another may lie there by now
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The first `most` bytes of a regular file, all of them without it; OSError as `opened`."""
    with opened(path) as file:
        return file.read(most)


def read_text(path: Path, errors: str = "strict") -> str:
    """A regular file as UTF-8 text, line ends as they are; OSError as `opened`, UnicodeDecodeError by `errors`."""
    return read_bytes(path).decode("utf-8", errors)


def odd(path: Path) -> str:
    """Why what lies at the path is neither a file nor a folder; "" where it is one, or nothing is there."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else _kind(mode)


def _refuse(mode: int, path: Path) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise NotAFileError(errno.EINVAL, _kind(mode), str(path))


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return t("it is a named pipe, and a file is needed")
    if stat.S_ISSOCK(mode):
        return t("it is a socket, and a file is needed")
    return t("it is a device, and a file is needed")
