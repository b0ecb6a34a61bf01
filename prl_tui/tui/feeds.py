"""What arrives by itself: a run as its files tell it. Reading happens on a thread; screens only take the last value."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from prl_tui import reasons
from prl_tui.core.config import RunConfig, fill
from prl_tui.core.findings import NO_PACE, Facts
from prl_tui.core.value import replace
from prl_tui.machine import crash, facts, paths, rows
from prl_tui.machine.gpus import GpuSnapshot
from prl_tui.runs import claims, history, overview, reserved
from prl_tui.runs.bare import BareRun
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.seats import Seats, SeatWatch
from prl_tui.telemetry.quiet import USUAL, Patience


class BoxFacts:
    """What this box knows of a config beside its GPUs: the rows of its data, the pace of earlier runs.

    Looked up on a thread, once for each set of values that it depends on; until then they are unknown.
    """

    def __init__(self) -> None:
        self._known: dict[object, facts.Known] = {}
        self._asked: set[object] = set()
        self._earlier: dict[object, tuple[history.Earlier, ...]] = {}
        """Earlier runs that lend a config their pace, all of which were read."""
        self._paces: dict[str, float] = {}
        self._data: object = None
        """The data files that are wanted now: others are counted no further."""
        self._claims: tuple[claims.Claim, ...] | None = None
        self._claims_unseen = ""
        """Why they could not be read."""
        self._port: tuple[int | None, str | None] = (None, None)
        """The master port that was looked at last, and who has it."""
        self._reading: threading.Thread | None = None
        self._read_at = 0.0

    @staticmethod
    def subject(config: RunConfig) -> object:
        """What is looked up for a config: configs with the same one have the same facts."""
        data = config.recipe.data
        own = [key for one in data.write for key in (one.key, *one.when) if key]
        own += [field.key for field in config.recipe.fields if field.glob]
        fields = (*data.batch.rows, *data.batch.validation, *own, "workdir", "training_env", "conda_hook", "launcher")
        values = tuple(config.text(key) for key in fields if key in config.settings)
        files = tuple(fill(file, config) for file in data.files)
        return (config.recipe.name, config.number("nproc_per_node"), values, files)

    def known(self, config: RunConfig) -> bool:
        """Whether everything that is looked up on threads is known."""
        looked = self._claims is not None and self._port[0] == facts.fixed_port(config)
        return looked and self.subject(config) in self._known

    def facts(self, config: RunConfig, snapshot: GpuSnapshot) -> Facts:
        """The facts as far as they are known now."""
        key = self.subject(config)
        self._data = rows.named(config)
        if key not in self._asked:
            self._asked.add(key)
            threading.Thread(target=self._look_up, args=(key, config), daemon=True).start()
        port = facts.fixed_port(config)
        self._ask_for_claims(port)
        owner = self._port[1] if self._port[0] == port else None
        found = facts.here(config, snapshot, self._known.get(key), claims.run_of, owner)
        runs = self._earlier.get(key, ())
        pace = history.nearest(runs, config, lambda one: self._paces[one.folder.id])  # anew: other settings change too
        found = replace(found, seconds_per_step=pace.seconds, pace_source=pace.run, pace_differs=pace.differs)
        if self._claims_unseen and not found.unseen:
            found = replace(found, unseen=self._claims_unseen)
        return reserved.known(found, config, self._claims or ())

    def _ask_for_claims(self, port: int | None) -> None:
        """Have the claims of runs and the port's owner looked up, on a thread and not too often.

        The state folder may be a network disk, and a box may have thousands of processes.
        """
        now = time.monotonic()
        due = now - self._read_at >= CLAIMS_EVERY or port != self._port[0]
        if self._reading is None or (not self._reading.is_alive() and due):
            self._read_at = now
            self._reading = threading.Thread(target=self._read_claims, args=(port,), daemon=True)
            self._reading.start()

    def _read_claims(self, port: int | None) -> None:
        found, unseen, owner = self._claims or (), "", None
        try:
            owner = facts.port_owner(port, claims.run_of)
            found = tuple(claims.held(paths.runs_dir()))
        except OSError as error:
            unseen = reasons.of_file(error)
        except Exception as error:
            unseen = crash.record(error)
        self._claims, self._claims_unseen, self._port = found, unseen, (port, owner)  # a look that failed is over too

    def _look_up(self, key: object, config: RunConfig) -> None:
        data = rows.named(config)
        try:
            found = facts.look_up(config, paths.here(), NO_PACE, lambda: data != self._data)
            self._earlier[key] = self._paced(config)
        except rows.StaleError:
            self._asked.discard(key)  # asked again once it is wanted again
            return
        except OSError as error:
            found = facts.Known(unseen=reasons.of_file(error))
        except Exception as error:
            found = facts.Known(unseen=crash.record(error))
        self._known[key] = found

    def _paced(self, config: RunConfig) -> tuple[history.Earlier, ...]:
        """The newest earlier runs that lend a pace, each read here: nothing is read while somebody types."""
        found: list[history.Earlier] = []
        for one in history.earlier(paths.runs_dir(), config):
            each = history.seconds(one) if len(found) < PACED else None
            if each is not None:
                self._paces[one.folder.id] = each
                found.append(one)
        return tuple(found)


PACED = 8
"""Earlier runs of which the pace is read: each may have a long log."""
CLAIMS_EVERY = 1.0
"""Seconds between two looks at what runs have reserved."""
TURN = 0.25
"""Seconds between two looks at a run that lives."""
LOST = 1.0
"""Seconds between two looks at a run that was lost: nobody saw its end, and a stop may still write one down."""
UNHEARD = 30.0
"""Seconds without news after which what a run of another place has not written to its end is taken as it is."""
CALM = 3.0
"""Seconds without news after which it is looked at half as often."""

RETRY, RETRY_MOST = 5.0, 60.0
"""Seconds after a fault of our own until the next try: the first, doubled each time up to the second."""


@dataclass
class RunFeed:
    """Follows one run until its end has been read; one of which nobody knows whether it goes on is looked at again."""

    folder: RunFolder
    patience: Patience = USUAL
    """How long the run may be silent before it is told."""

    def __post_init__(self) -> None:
        self._latest: Overview | None = None
        self._seats = Seats()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"run-{self.folder.id}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def latest(self) -> Overview | None:
        """The run as last read; None before the first look. Never waits."""
        return self._latest

    def seats(self) -> Seats:
        """The processes of its ranks, while it runs here. Never waits."""
        return self._seats

    def stop(self) -> None:
        """Stop reading; returns at once."""
        self._over.set()

    def _follow(self) -> None:
        """Read on, also after a fault of our own: it is told in the run's place, and tried again ever more rarely."""
        pause = RETRY
        while not self._over.is_set():
            try:
                self._read()
                return
            except Exception as fault:
                self._latest, self._seats = overview.unread(self.folder, fault), Seats()
            self._over.wait(pause)
            pause = min(2 * pause, RETRY_MOST)

    def _read(self) -> None:
        """Until the end of the run has been read, or nobody wants to know any more."""
        reading, news, unheard = overview.reader(self.folder), time.monotonic(), False
        watch = None if isinstance(self.folder, BareRun) else SeatWatch(self.folder)
        try:
            while not self._over.is_set():
                view = reading.poll(ended=unheard)
                one = overview.describe(self.folder, view, self.patience)
                if one.status.over:
                    view = reading.poll(ended=True)
                    while view.behind and not self._over.is_set():
                        view = reading.poll(ended=True)
                    one, self._seats = overview.describe(self.folder, view), Seats()
                    if one != self._latest:
                        self._latest = one
                    if one.status.state != "lost":
                        return
                    self._over.wait(LOST)  # a stop of what is left of it writes down its end
                    continue
                if one != self._latest:  # the same object else: whoever shows it sees at once that nothing is new
                    self._latest, news = one, time.monotonic()
                if watch is not None:
                    self._seats = watch.poll(len(view.ranks))
                calm = time.monotonic() - news > CALM
                unheard = watch is not None and one.status.state == "unknown" and time.monotonic() - news > UNHEARD
                self._over.wait(0.0 if view.behind else 2 * TURN if calm else TURN)
        finally:
            reading.close()
