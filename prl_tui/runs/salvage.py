"""The last bytes of a log that nobody reads any more: they lie in the pipe for as long as a process has it open.

Where a supervisor and its recorder are both gone, whoever ends what is left of the run takes them out of there first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prl_tui.runs import proctree, records
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.logpump import LogPump, open_log


def open_pipe(folder: RunFolder, processes: Iterable[proctree.Seen]) -> int | None:
    """A descriptor to read from the run's pipe, which one of these has open; None where none has, or it is not known."""
    record = records.read_record(folder.path / records.STATE)
    inode = record.get("pipe") if isinstance(record, dict) else None
    if not isinstance(inode, int):
        return None
    for seen in processes:
        with suppress(OSError):  # gone, or not ours to look at
            for entry in Path(f"/proc/{seen.pid}/fd").iterdir():
                with suppress(OSError):
                    if str(entry.readlink()) == f"pipe:[{inode}]":
                        return os.open(entry, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return None


def drain(folder: RunFolder, pipe: int) -> int:
    """What lies in the pipe goes to the end of the log, and the pipe is closed; bytes that did not fit on the disk."""
    try:
        pump = LogPump(open_log(folder.output), folder.output)
    except OSError:
        os.close(pipe)
        return 0
    with suppress(BlockingIOError):  # a process that could not be ended has it open still
        while pump.move(pipe):
            pass
    pump.close()
    os.close(pipe)
    return pump.dropped
