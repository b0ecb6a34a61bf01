"""One run as its files tell it now: phase, progress, curves, checkpoints, first errors.

`RunReader.poll` reads only new bytes and returns a frozen `RunView`, the same object while nothing changed, so
that a feed may run it on a thread of its own and hand the view to a screen. Metrics come from the trainer's
`logging.jsonl` where there is one (full precision), else from the console.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

from prl_tui import reasons, steady
from prl_tui.telemetry import silent_ranks
from prl_tui.telemetry.console import ConsoleFormat, ConsoleReader
from prl_tui.telemetry.error_lines import ERROR_TRIGGER, ErrorMark, FirstErrors
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.followed_tail import FrameTail
from prl_tui.telemetry.kept import Kept
from prl_tui.telemetry.metrics import MetricRow, MetricsFile, MetricTable
from prl_tui.telemetry.progress import Pace, Progress, progress_of
from prl_tui.telemetry.rank_logs import RankLog, find_rank_logs
from prl_tui.telemetry.swallowed import Swallowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prl_tui.telemetry.milestones import Checkpoint
    from prl_tui.telemetry.series import Series

_ERRORS = re.compile(ERROR_TRIGGER, re.MULTILINE)
_SCAN_SECONDS = 1.0
_NO_SERIES: Mapping[str, Series] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RunView:
    """What is known of a run; equal views mean that nothing changed."""

    phase: str = "waiting"
    """One of `milestones.PHASES`."""
    progress: Progress | None = None
    series: Mapping[str, Series] = field(default_factory=lambda: _NO_SERIES)
    """By the trainer's names; the same objects until rows come."""
    rows: int = 0
    """Metric rows so far."""
    last_row: MetricRow | None = None
    """Newest train row."""
    last_eval: MetricRow | None = None
    summary: MetricRow | None = None
    """The trainer's closing row; written after a failure too, so no sign of success."""
    metrics_path: Path | None = None
    """The trainer's `logging.jsonl`, once it is known."""
    metrics_source: Literal["", "file", "console"] = ""
    checkpoints: tuple[Checkpoint, ...] = ()
    """By step number; those that are still there."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What anchors said: `world_size`, `output_dir`, …"""
    ranks: tuple[RankLog, ...] = ()
    silent: tuple[int, ...] = ()
    """Local ranks that stopped to write while the others went on."""
    errors: tuple[ErrorMark, ...] = ()
    """The first error-like line of each file, the console first, then by rank."""
    own_errors: tuple[ErrorMark, ...] = ()
    """The same of what no SIGINT or SIGTERM asked for; ranks may fail because others have gone, so theirs only where
    the console, which has everything in the order in which it came, shows one too."""
    stop_errors: tuple[ErrorMark, ...] = ()
    """The first of each file where the stop of the run caused them all; then `errors` is empty."""
    interrupted: bool = False
    """A signal ended something before any other error came."""
    done: bool = False
    """The training is over: the program said so, or its closing row came after a checkpoint of the very last step
    (torchrun ends the rank that would say so when another one dies on its way out)."""
    last_output: float | None = None
    """When the console, the metrics or a rank's log last grew, in seconds since the epoch."""
    heard_at: float | None = None
    """The same by the reader's steady clock: the wall clock may be set while nothing comes."""
    furthest: int = 0
    """The greatest step that was ever seen; a restart, or another stage in one log, goes back behind it."""
    step_seconds: float | None = None
    """Usual (median) seconds per step, by the rows."""
    report_seconds: float | None = None
    """Usual (median) seconds between two rows."""
    behind: bool = False
    """More was there than one poll may read: the next one goes on."""
    swallowed: Swallowed | None = None
    """Failures that the console told of, and the program went on from; torchrun's report of one is among them."""
    problems: tuple[str, ...] = ()
    """Files that cannot be read, with the system's reason."""


class RunReader:
    """Reads one run's files as they grow; every path may be absent or come later."""

    def __init__(
        self,
        output_log: Path | None,
        ranks_dir: Path | None = None,
        metrics_path: Path | None = None,
        base_dir: Path | None = None,
        console: ConsoleFormat | None = None,
        clock: Callable[[], float] = steady.seconds,
        total: int | None = None,
        short: bool = False,
    ) -> None:
        """`base_dir`: where the run was started, for paths that it printed relative to that.

        `total`: the last step, for a program whose log does not say. Without `output_log` rank 0's own files are the console.
        `short`: of huge logs only the start and the end; rows that stand in the console alone are missing in between.
        """
        self._output_log = output_log
        self._ranks_dir = ranks_dir
        self._base_dir = base_dir or Path()
        self._fixed_metrics = metrics_path
        self._format = console
        self._clock = clock
        self._total, self._short = total, short
        self._console = ConsoleReader([output_log] if output_log else [], console, clock, short=short)
        self._metrics: MetricsFile | None = None
        self._ranks: tuple[RankLog, ...] = ()
        self._rank_files: dict[Path, _FirstError] = {}
        self._next_scan = 0.0
        self._all_ranks = False
        self._pace = _PaceOfTable()
        self._kept = Kept(self._base_dir)
        self._view = RunView()
        self._heard: tuple[float | None, float | None] = (None, None)
        self._table: MetricTable | None = None
        self._furthest = 0

    @classmethod
    def of_folder(
        cls,
        folder: Path,
        base_dir: Path | None = None,
        console: ConsoleFormat | None = None,
        total: int | None = None,
        short: bool = False,
    ) -> RunReader:
        """The reader of a run folder: `output.log` and `ranks/` in it."""
        return cls(
            folder / "output.log", folder / "ranks", base_dir=base_dir, console=console, total=total, short=short
        )

    @property
    def view(self) -> RunView:
        """What the last poll found."""
        return self._view

    def newest(self, count: int) -> tuple[MetricRow, ...]:
        """The last `count` metric rows of the last poll, or as many as are kept (`MetricTable`)."""
        return self._table.newest(count) if self._table is not None else ()

    def poll(self, budget: int = 4 << 20, ended: bool = False) -> RunView:
        """Read at most about `budget` new bytes of each file. `ended`: the run is over, nothing more is written."""
        self._scan_ranks(ended)
        self._console.poll(budget, ended)
        self._open_metrics()
        if self._metrics is not None:
            self._metrics.poll(budget, ended)
        for file in self._rank_files.values():
            file.poll(budget)
        view = self._build(ended)
        if view != self._view:
            self._view = view
        return self._view

    def close(self) -> None:
        """Give all file descriptors back."""
        self._console.close()
        for file in self._rank_files.values():
            file.close()
        if self._metrics is not None:
            self._metrics.close()

    def _scan_ranks(self, ended: bool) -> None:
        now = self._clock()
        last = ended and not self._all_ranks  # a rank that began and died since the last look
        if self._ranks_dir is None or (not last and 0 <= self._next_scan - now <= _SCAN_SECONDS):
            return
        self._next_scan, self._all_ranks = now + _SCAN_SECONDS, ended
        ranks = find_rank_logs(self._ranks_dir)
        if ranks == self._ranks:
            return
        self._ranks = ranks
        if self._output_log is None:
            self._console.close()
            first = [path for rank in ranks[:1] for path in (rank.stdout, rank.stderr)]
            self._console = ConsoleReader(first, self._format, self._clock, short=self._short)
        known = self._rank_files
        paths = [path for rank in ranks for path in (rank.stderr, rank.stdout)]
        self._rank_files = {path: known.get(path) or _FirstError(path, self._short) for path in paths}
        for path in known.keys() - self._rank_files.keys():
            known[path].close()

    def _written(self) -> dict[int, float]:
        """When each rank last wrote, those that wrote anything."""
        written: dict[int, float] = {}
        for log in self._ranks:
            files = (self._rank_files[path] for path in (log.stdout, log.stderr))
            times = [file.modified for file in files if file.modified is not None and file.position]
            if times:
                written[log.rank] = max(times)
        return written

    def _open_metrics(self) -> None:
        path = self._fixed_metrics
        named = self._console.milestones.facts.get("metrics_path")
        if path is None and named:
            path = self._base_dir / named
        if path is not None and (self._metrics is None or self._metrics.path != path):
            if self._metrics is not None:
                self._metrics.close()
            self._metrics = MetricsFile(path)

    def _build(self, ended: bool) -> RunView:
        console, metrics = self._console, self._metrics
        from_file = metrics is not None and metrics.table.count > 0
        self._table = table = metrics.table if metrics is not None and from_file else console.table
        bar = console.bar
        train = table.last.get("train")
        progress = progress_of(
            train, table.total or self._total, self._pace.of(table), bar.current, bar.epoch, table.told
        )
        if progress is not None:
            numbered = table.total is not None or table.told is not None
            self._furthest = max(self._furthest, progress.step, table.furthest if numbered else 0)
        stepping = train is not None or (progress is not None and progress.step > 0)
        told, ranks = list(console.first_errors.values()), [file.errors for file in self._rank_files.values()]
        own = [one.own for one in told] if any(one.own for one in told) else []
        named = console.milestones.ordered_checkpoints()
        files: list[_Watched] = [console, *self._rank_files.values(), *([metrics] if metrics else [])]
        last_output = max((file.modified for file in files if file.modified is not None), default=None)
        return RunView(
            phase=console.milestones.phase(any_output=console.position > 0, stepping=stepping),
            progress=progress,
            series=table.series(),
            rows=table.count,
            last_row=train,
            last_eval=table.last.get("eval"),
            summary=table.last.get("summary"),
            metrics_path=metrics.path if metrics else None,
            metrics_source="file" if from_file else "console" if table.count else "",
            checkpoints=self._kept.of(named, self._clock(), ended),
            facts=MappingProxyType(dict(console.milestones.facts)),
            ranks=self._ranks,
            silent=silent_ranks.silent(self._written()) if not ended else (),
            errors=_marks([one.first for one in (*told, *ranks)]),
            own_errors=_marks([*own, *(one.own for one in ranks)]) if own else (),
            interrupted=any(one.interrupted for one in told),
            done="done" in console.milestones.lines or _trained(table, named),
            last_output=last_output,
            heard_at=self._heard_at(last_output),
            furthest=self._furthest,
            step_seconds=self._pace.step_seconds,
            report_seconds=self._pace.report_seconds,
            behind=any(file.behind for file in files),
            swallowed=console.swallowed.found,
            problems=tuple(reasons.of_file(problem) for file in files for problem in file.problems),
        )

    def _heard_at(self, last_output: float | None) -> float | None:
        """The wall clock is looked at once for each output."""
        if last_output != self._heard[0]:
            age = max(0.0, time.time() - last_output) if last_output is not None else None
            self._heard = last_output, None if age is None else self._clock() - age
        return self._heard[1]


def _marks(found: Iterable[ErrorMark | None]) -> tuple[ErrorMark, ...]:
    """One of each file: rank 0's may be the console."""
    return tuple({mark.path: mark for mark in found if mark is not None}.values())


def _trained(table: MetricTable, checkpoints: tuple[Checkpoint, ...]) -> bool:
    """The Trainer's closing row, with every step done and the last one's weights saved."""
    end = table.last.get("end")
    if end is None or table.total is None or end.step != table.total:
        return False
    return any(one.step == table.total for one in checkpoints)


class _Watched(Protocol):
    """What every reader of a file can say about it."""

    @property
    def behind(self) -> bool: ...
    @property
    def modified(self) -> float | None: ...
    @property
    def problems(self) -> tuple[OSError, ...]: ...


class _PaceOfTable:
    """The pace of the table that counts now; starts again when another one does."""

    def __init__(self) -> None:
        self.step_seconds: float | None = None
        self.report_seconds: float | None = None
        self._table: MetricTable | None = None
        self._count = 0
        self._pace = Pace()

    def of(self, table: MetricTable) -> float | None:
        """Recent seconds per step after all of the table's rows."""
        if table is not self._table:
            self._table, self._count, self._pace = table, 0, Pace()
            self.step_seconds = self.report_seconds = None
        if table.count > self._count:
            for row in table.newest(table.count - self._count):
                self._pace.add(row)
            self._count = table.count
            self.step_seconds, self.report_seconds = self._pace.median_step(), self._pace.median_report()
        return self._pace.seconds_per_step()


class _FirstError:
    """Looks for the first errors of a rank's file, then only for its age."""

    def __init__(self, path: Path, short: bool) -> None:
        self.errors = FirstErrors()
        self._tail = FrameTail(path, _ERRORS, short=short)

    @property
    def behind(self) -> bool:
        """Whether there is more to be searched."""
        return not self.errors.settled and self._tail.behind

    @property
    def modified(self) -> float | None:
        """When the file last changed, in seconds since the epoch; None before it exists."""
        return self._tail.modified

    @property
    def position(self) -> int:
        """Bytes that were read, 0 for an empty file."""
        return self._tail.position

    @property
    def problems(self) -> tuple[OSError, ...]:
        """Why the file cannot be read now."""
        return (self._tail.problem,) if self._tail.problem else ()

    def poll(self, budget: int) -> None:
        """Read at most `budget` new bytes, as long as more of them may tell something."""
        for frame in self._tail.poll(0 if self.errors.settled else budget):
            self.errors.take(self._tail.path, frame.line, plain(frame.text))

    def close(self) -> None:
        """Give the file descriptor back."""
        self._tail.close()
