"""When to send which signal: INT, then TERM, then KILL each second. It owns the deadlines, not the processes.

Default graces: 10 s after INT, 35 s after TERM, so the first KILL comes 45 s after the request. INT lets an
interactive program say goodbye; a rank stuck inside a collective never sees it and must not hold the stop for long.
TERM is what trainers save a checkpoint on, and torchrun gives its ranks 30 s after a signal before it kills them
itself: the grace outlasts that.
"""

from __future__ import annotations

NONE, INTERRUPT, TERMINATE, KILL = range(4)
STAGES = ("none", "interrupt", "terminate", "kill")
"""Names of the stages in the records."""

INTERRUPT_GRACE = 10.0
TERMINATE_GRACE = 35.0
"""Seconds between a stage and the next."""

KILL_AGAIN = 1.0
STRAY_PATIENCE = 2.0
"""Seconds in which what the leader left behind may end by itself."""

STRAY_GRACE = 10.0
ORPHAN_GRACE = 5.0
"""Seconds that INT still has once the leader is gone."""


class Ladder:
    """Stages of one stop. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self.stage = NONE
        self.next_at: float | None = None
        """When the next stage is due; None while nothing was asked."""
        self._since = 0.0
        self._graces = {INTERRUPT: INTERRUPT_GRACE, TERMINATE: TERMINATE_GRACE, KILL: KILL_AGAIN}

    def ask(self, now: float, interrupt: float, terminate: float) -> None:
        """A person wants the run to end. Asked again, it can only become quicker. `interrupt` 0 starts with TERM."""
        if self.next_at is None:
            self._graces.update({INTERRUPT: interrupt, TERMINATE: terminate})
            self.stage, self.next_at = (NONE if interrupt > 0 else INTERRUPT), now
            return
        self._graces[INTERRUPT] = min(self._graces[INTERRUPT], interrupt)
        self._graces[TERMINATE] = min(self._graces[TERMINATE], terminate)
        if self.stage in (INTERRUPT, TERMINATE):
            self.next_at = min(self.next_at, self._since + self._graces[self.stage])

    def resume(self, sent: int, since: float, interrupt: float, terminate: float) -> None:
        """Go on with a stop at stage `sent`, whose signal was sent at `since`: it is not sent again.

        Where the next one is overdue, it comes at once, and the one after it has its whole grace.
        """
        self._graces.update({INTERRUPT: interrupt, TERMINATE: terminate})
        self.stage, self._since = sent, since
        self.next_at = since + self._graces[self.stage]

    def leader_gone(self, now: float) -> None:
        """The launcher has ended but others live: it can pass nothing on any more, so go on sooner."""
        if self.next_at is None:
            self._graces[TERMINATE] = STRAY_GRACE
            self.stage, self.next_at = INTERRUPT, now + STRAY_PATIENCE
        elif self.stage == INTERRUPT:
            self.next_at = min(self.next_at, now + ORPHAN_GRACE)

    def due(self, now: float) -> int:
        """The stage whose signal must be sent now, `NONE` when there is none; call again until it says so."""
        if self.next_at is None or now < self.next_at:
            return NONE
        self.stage = min(self.stage + 1, KILL)
        self._since = now
        self.next_at = now + self._graces[self.stage]
        return self.stage
