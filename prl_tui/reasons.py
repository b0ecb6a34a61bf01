"""Why the operating system refused something, in the language in force. English is the system's own words."""

from __future__ import annotations

import errno
import os

from prl_tui.i18n import language, mark, t, visible

WORDS = {
    errno.EACCES: mark("Permission denied"),
    errno.EBUSY: mark("Device or resource busy"),
    errno.EDQUOT: mark("Disk quota exceeded"),
    errno.EEXIST: mark("File exists"),
    errno.EFBIG: mark("File too large"),
    errno.EINVAL: mark("Invalid argument"),
    errno.EIO: mark("Input/output error"),
    errno.EISDIR: mark("Is a directory"),
    errno.ELOOP: mark("Too many levels of symbolic links"),
    errno.EMFILE: mark("Too many open files"),
    errno.ENAMETOOLONG: mark("File name too long"),
    errno.ENOENT: mark("No such file or directory"),
    errno.ENOEXEC: mark("Exec format error"),
    errno.ENOMEM: mark("Cannot allocate memory"),
    errno.ENOSPC: mark("No space left on device"),
    errno.ENOTDIR: mark("Not a directory"),
    errno.ENOTEMPTY: mark("Directory not empty"),
    errno.ENXIO: mark("No such device or address"),
    errno.EPIPE: mark("Broken pipe"),
    errno.EPERM: mark("Operation not permitted"),
    errno.EROFS: mark("Read-only file system"),
    errno.ESTALE: mark("Stale file handle"),
    errno.ETXTBSY: mark("Text file busy"),
}
"""By their numbers: the words of glibc."""

_NUMBERS = {words: number for number, words in WORDS.items()}


def of(error: OSError) -> str:
    """What the error says, without its number and its file; words of our own that it carries stay."""
    said = error.strerror or str(error)
    if language() == "en" or error.errno not in WORDS or said != os.strerror(error.errno):
        return said
    return t(WORDS[error.errno])


def of_file(error: OSError) -> str:
    """`FILE: reason`, or the reason alone where the error names no file."""
    return f"{visible(str(error.filename))}: {of(error)}" if error.filename else of(error)


def told(words: str) -> str:
    """The same for words that another process wrote down, of which the number is not known any more."""
    return t(WORDS[_NUMBERS[words]]) if words in _NUMBERS else words
