"""Files are written beside their place, fsynced and renamed: a reader sees the old text or the new, never half."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path


def write_bytes(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace `path` with `data` in one step; OSError if that is impossible, with nothing left behind.

    `mode` is a new file's; one that is there keeps its own permissions.
    """
    write_parts(path, (data,), mode)


def write_parts(path: Path, parts: Iterable[bytes], mode: int = 0o644) -> None:
    """`write_bytes` of what is too much for memory; an error while the parts are made leaves nothing behind either."""
    beside = path.with_name(f".prl-tui-{os.urandom(6).hex()}.tmp")  # shorter than a name may be, whatever `path` is
    kept = _permissions(path)
    try:
        descriptor = os.open(
            beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode if kept is None else kept
        )
        with os.fdopen(descriptor, "wb") as file:
            if kept is not None:
                with contextlib.suppress(OSError):  # a file system without permissions
                    os.fchmod(file.fileno(), kept)  # what the umask took away
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    with contextlib.suppress(OSError):  # some network file systems refuse to fsync a folder
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _permissions(path: Path) -> int | None:
    """Those of a regular file, None where there is none."""
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return found.st_mode & 0o777 if stat.S_ISREG(found.st_mode) else None


def write_text(path: Path, text: str, mode: int = 0o644) -> None:
    """`write_bytes` of UTF-8 text; newlines are written as they are."""
    write_bytes(path, text.encode("utf-8"), mode)


def write_behind(path: Path, text: str, mode: int = 0o644) -> None:
    """`write_text` of a file that a person names: the one behind a link is written, there or not, and the link stays."""
    write_text(behind(path), text, mode)


def behind(path: Path) -> Path:
    """The file that a name means, behind all links; OSError where they lead in a circle."""
    real = Path(os.path.realpath(path))
    if real.is_symlink():  # links in a circle end at one of them
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return real


def write_json(path: Path, value: object) -> None:
    """`write_behind` of indented JSON with a final newline."""
    write_behind(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
