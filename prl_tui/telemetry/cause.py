"""The first cause of a failed launch, as far as the launcher itself says it: which rank, and its last exception.

torchrun ends with a block that names the first rank that failed (judged by torch 2.13.0's output); the ranks that it
ended afterwards are victims. The reason is the last exception line of that rank's own log.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from prl_tui import regular
from prl_tui.core.secrets import hidden_said
from prl_tui.i18n import t
from prl_tui.telemetry import exception_groups
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.rank_logs import RankLog
from prl_tui.telemetry.teed_log import parted

TAIL = 256 << 10
"""Bytes at a log's end that are looked at."""

_MOST = 400
"""Characters of a line that are quoted at most."""
_TRACEBACK = 400
"""Lines above an exception in which its traceback begins."""
_BEFORE = 5
_SHOWN = 20
"""Lines that are shown at most."""

_ROOT = re.compile(
    r"Root Cause \(first observed failure\):.*?rank\s+: (?P<rank>\d{1,9}) \(local_rank: (?P<local>\d{1,9})\)\s*\n"
    r"[^\n]*exitcode\s+: (?P<code>-?\d+) \(pid: \d+\)(?:[ \t]+\((?P<signal>SIG\w+)\))?",
    re.DOTALL,
)
_BLOCK = "Root Cause (first observed failure):"
_TAG = re.compile(r"^(?:\[default\d+\]:|\[rank\d+\]: ?)+")
"""What torchrun puts before a rank's line, and torch with a blank before an exception's; what follows is indentation."""
_TAG_AT_END = re.compile(r"(?:\[default\d+\]:|\[rank\d+\]: ?)*$")
_BEHIND_A_BAR = re.compile(
    r"^.*\]\[rank\d+\]: (?=(?:  \+ Exception Group )?Traceback \(most recent call last\))",
)
"""A bar has no newline at its end: what torch prints next begins on its line."""
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Failure|NotImplemented)|Exception)\b(?::.*)?$"
)
_REFUSED = re.compile(r"^(?:[^\s:][^:]*: e|E)rror: \S")
"""What argparse (`train.py: error: …`) and click (`Error: …`) say of a command line, below its usage."""
_NOT_STARTED = re.compile(
    r"^\S*python[\d.]*: (?:Error while finding module|No module named|can't open file|can't find) ?\S"
)
"""What Python itself says of `-m` and of a script that it cannot find (3.10 to 3.13)."""
_USAGE = re.compile(r"^usage: ", re.IGNORECASE)
_LAUNCHERS = ("torch.distributed.elastic", "subprocess.CalledProcessError")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a run failed, in one line, and where it stands."""

    text: str
    rank: int | None = None
    path: Path | None = None
    at: int | None = None
    """Byte of `path` with which the line begins, from 0, or one in it: its number takes as long as the log is large."""
    signal: str = ""
    """The name of the signal that ended the rank, where nothing else is known."""

    @property
    def line(self) -> int | None:
        """Number of the line in `path`, from 0; counted each time, up to there."""
        return line_at(self.path, self.at) if self.path is not None and self.at is not None else None

    def words(self) -> str:
        """`rank 1: RuntimeError: …`."""
        return self.text if self.rank is None else t("rank {rank}: {reason}", rank=self.rank, reason=self.text)


def quoted(text: str) -> str:
    """A log's words as a sentence about the run may say them: not too long, and without keys and passwords."""
    return hidden_said(text[: 8 * _MOST])[:_MOST]


def find(output: Path, ranks: tuple[RankLog, ...]) -> Cause | None:
    """The cause that the logs of an ended run show; None where they show none."""
    every, begins = _lines(output)
    said = "\n".join(_TAG.sub("", line) for line in every)
    root = None
    for root in _ROOT.finditer(said):  # noqa: B007  (the last block counts)
        pass
    if root is None:
        return _exception(output, None)
    local, rank = int(root["local"]), int(root["rank"])
    log = next((log for log in ranks if log.rank == local), None)
    for path in (log.stderr, log.stdout) if log is not None else ():
        found = _exception(path, rank)
        if found is not None:
            return found
    at = begins[said.count("\n", 0, root.end())]  # the launcher's own log shows it: the rank's has no word of it
    if root["signal"]:
        return Cause(t("ended by {signal}", signal=root["signal"]), rank, output, at, root["signal"])
    # without logs of its own a rank speaks on the console, marked by torch or torchrun, or else as anybody
    told = _exception(output, rank, re.compile(rf"\[(?:rank{rank}|default{local})\]:")) or _exception(output, None)
    return told or Cause(t("exit code {code}", code=root["code"]), rank, output, at)


def shown(path: Path, at: int | None) -> tuple[tuple[str, ...], int]:
    """The lines that show a cause, and where the line that it is in begins: its traceback, else what stands before it.

    `at` is `Cause.at`; None shows the last lines that have something.
    """
    every, begins = _lines(path)
    texts = [_text(one) for one in every]
    last = max((n for n, text in enumerate(texts) if text.strip()), default=-1)
    end = last if at is None else bisect_right(begins, at) - 1
    if end < 0:
        return (), 0
    begin = max(0, end - _BEFORE)
    for number in range(end, max(-1, end - _TRACEBACK), -1):
        if texts[number].startswith(("Traceback (most recent call last)", _BLOCK, exception_groups.HEAD)):
            begin = number
            break
    lines = [quoted(text) for text in texts[begin : end + 1] if text.strip()]
    below: list[str] = []
    if texts[begin].startswith(exception_groups.HEAD):
        last = exception_groups.end_of(texts, end)
        below = [quoted(text) for text in texts[end + 1 : last + 1] if text.strip()]
    room = max(_SHOWN - len(below), _SHOWN // 2)
    if len(lines) > room:  # the innermost calls say more than the outer ones
        lines = [lines[0], "  …", *lines[2 - room :]]
    room = _SHOWN - len(lines)
    if len(below) > room:  # and the first member more than the others
        below = [*below[: room - 1], "  …"]
    return (*lines, *below), begins[end]


def _exception(path: Path, rank: int | None, mark: re.Pattern[str] | None = None) -> Cause | None:
    """The last exception line of a log, or what a parser said of the command line; `mark`: of the lines so marked."""
    lines, begins = _lines(path)
    for number in range(len(lines) - 1, -1, -1):
        if exception_groups.HEAD in lines[number] and (found := _group(lines, number, mark)):
            return Cause(quoted(found[0]), rank, path, begins[found[1]])
        if mark is not None and not mark.match(lines[number].strip()):
            continue
        text = _TAG.sub("", lines[number].strip()).strip()
        raised = (_EXCEPTION.match(text) and not text.startswith(_LAUNCHERS)) or _NOT_STARTED.match(text)
        if raised or (_REFUSED.match(text) and _below_usage(lines, number)):
            return Cause(quoted(text), rank, path, begins[number])
    return None


def _group(lines: list[str], head: int, mark: re.Pattern[str] | None) -> tuple[str, int] | None:
    """What the exception group says whose traceback begins with line `head`, and its own line's number.

    Lines with another mark are other ranks' words.
    """
    before = lines[head].partition(exception_groups.HEAD)[0]
    found = _TAG_AT_END.search(before)
    tag = found.group() if found else ""
    if not _text(lines[head]).startswith(exception_groups.HEAD) or (mark is not None and not mark.search(tag)):
        return None
    its = [head]
    for number in range(head + 1, min(len(lines), head + exception_groups.MOST)):
        other = _TAG.match(lines[number])
        if (other.group() if other else "").endswith(tag):
            its.append(number)
    said = exception_groups.said([_text(lines[number]) for number in its])
    return (said[0], its[said[1]]) if said else None


def _text(line: str) -> str:
    """A line as its rank wrote it, without marks and what a bar left before it."""
    return _BEHIND_A_BAR.sub("", _TAG.sub("", line.rsplit("\r", 1)[-1].rstrip()))


def _below_usage(lines: list[str], number: int) -> bool:
    """Whether the usage of a program stands closely above; a compiler says `error:` too, and may go on."""
    return any(_USAGE.match(_TAG.sub("", line.strip()).strip()) for line in lines[max(0, number - _TRACEBACK) : number])


def line_at(path: Path, at: int) -> int | None:
    """The number, from 0, of the line in which a byte of a file is; reads all before it. None where that is impossible."""
    lines = 0
    try:
        with regular.opened(path) as file:
            while at > 0 and (part := file.read(min(1 << 20, at))):
                lines += part.count(b"\n")
                at -= len(part)
    except OSError:
        return None
    return lines


def _lines(path: Path) -> tuple[list[str], list[int]]:
    """The last lines of a file as plain text, and the byte with which each begins; the first one may be cut.

    What torchrun put behind another rank's text is a line of its own.
    """
    try:
        with regular.opened(path) as file:
            start = max(0, file.seek(0, 2) - TAIL)
            file.seek(start)
            tail = file.read(TAIL)
    except OSError:
        return [], []
    lines, begins = [], []
    for line in tail.split(b"\n"):
        at = start
        for part in parted(line):
            lines.append(plain(part))
            begins.append(at)
            at += len(part)
        start += len(line) + 1
    return lines, begins
