"""A run in one line each: its head with progress, and its health. Texts of the watch screen; no widget."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from prl_tui import steady
from prl_tui.core.smoke import Result
from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.bare import BareRun
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE
from prl_tui.telemetry import quiet
from prl_tui.telemetry.durations import format_duration, format_speed
from prl_tui.telemetry.milestones import phase_words
from prl_tui.telemetry.rank_logs import RankLog
from prl_tui.tui.cells import fit, safe

GAP = "   "
"""Between two parts of a line."""
LATE = 60.0
"""Seconds without output after which the key that shows why is worth its room."""
BAR = 20
"""Cells of the progress bar."""


_TONES = {"finished": "$text-success", "failed": "$text-error", "lost": "$text-warning"}


def head(one: Overview, width: int) -> Content:
    """`run 7f3 · demo/two-ranks · ▸ running   step 120 / 200  60 %  ━━━╸────  7 it/s  16 s left  checkpoint 100`."""
    state = one.status.state
    if one.passed is not None:
        state = "finished" if one.passed else "failed"
    tone = "$text-warning" if one.warns else _TONES.get(state, "$text-accent")
    if isinstance(one.folder, BareRun):
        parts = [(safe(one.id), "bold"), (f" · {one.folder.kind()}", "$secondary")]
    else:
        parts = [
            (t("run {id}", id=safe(one.id)), "bold"),
            (f" · {fit(safe(one.what), min(cell_len(safe(one.what)), max(12, width // 2 - 12)))} · ", "$secondary"),
            (overview.status_word(one).removeprefix("· "), tone),
        ]
    room = width - sum(cell_len(text) for text, _ in parts)
    for text in _progress(one, room > 70):
        if cell_len(text) + 3 <= room:
            parts.append((f"   {safe(text)}", ""))
            room -= cell_len(text) + 3
    return Content.assemble(*parts)


def waiting(folder: RunFolder, rank: RankLog | None = None) -> str:
    """What stands in place of a log that has no line; `rank`: of that rank's own."""
    if rank is not None and rank.is_gone:
        return t("The log of rank {rank} was deleted; “{all}” has what it wrote.", rank=rank.rank, all=t("all ranks"))
    if isinstance(folder, BareRun) and folder.log is None:
        return t("No log lies in this folder, only metrics.")
    return t("Nothing is written yet.")


def _progress(one: Overview, with_bar: bool) -> Sequence[str]:
    progress = one.view.progress
    took = _took(one)
    if progress is None:
        return [overview.phase_told(one), took] if one.status.state in ALIVE else [took]
    found = [overview.progress_words(one)]
    if progress.total:
        share = progress.step / progress.total
        found += [f"{100 * share:3.0f} %", *([bar(share, BAR)] if with_bar else [])]
    if one.status.state in ALIVE and one.status.state in overview.GOES_ON:
        if one.quiet is None and one.late is None and progress.eta_seconds is not None:
            found.append(t("{time} left", time=format_duration(progress.eta_seconds)))
        if one.quiet is None and one.late is None and (progress.total or progress.seconds_per_step is not None):
            found.append(format_speed(progress.seconds_per_step))
    else:
        found.append(took)
    if one.view.checkpoints:
        newest = one.view.checkpoints[-1]
        age = format_duration(steady.seconds() - newest.seen_at) if newest.seen_at else ""
        step = newest.step if newest.step is not None else newest.path
        found.append(
            t("checkpoint {step}, {age} ago", step=step, age=age) if age else t("checkpoint {step}", step=step)
        )
    return found


def _took(one: Overview) -> str:
    seconds = one.status.seconds
    if seconds is None:
        return ""
    if one.status.ended is not None:
        return t("after {time}", time=format_duration(seconds))
    return t("for {time}", time=format_duration(seconds))


def bar(share: float, cells: int) -> str:
    """A progress bar in half cells."""
    halves = round(max(0.0, min(1.0, share)) * cells * 2)
    full, half = divmod(halves, 2)
    return "━" * full + ("╸" if half else "") + "─" * (cells - full - half)


def health(one: Overview) -> tuple[str, str]:
    """What a person should know first, and its tone: good, warn, bad or nothing."""
    text, tone = _health(one)
    if not one.status.unwritten:
        return text, tone
    first, *others = text.split(GAP)  # where things stay matters less than what is missing there
    return GAP.join((first, one.status.unwritten, *others)), tone if tone == "bad" else "warn"


def _health(one: Overview) -> tuple[str, str]:
    status, view = one.status, one.view
    if status.state == "failed" or one.cause is not None:
        return _failure(one), "bad"
    if isinstance(one.folder, BareRun):
        return f"{_at_work(one, '✓' if view.done else '·')}   · {status.detail}", ""
    if one.smoke is not None and status.state in {"finished", "stopped"}:
        return _smoke(one.smoke)
    if status.orphaned and one.quiet is not None:
        return f"! {_silence(one)}{GAP}{status.detail}", "warn"
    if status.state in {"lost", "finished-with-exit-error", "unknown"} or (status.state == "finished" and one.warns):
        return f"! {status.detail}", "warn"
    if status.state == "finished":
        stay = t("its settings and logs stay in {path}", path=one.folder.path)
        return f"✓ {t('finished, exit code 0')}{GAP}{stay}", ""
    return _going_on(one)


def _going_on(one: Overview) -> tuple[str, str]:
    status = one.status
    if one.quiet is not None:
        return "! " + _silence(one), "warn"
    if status.detail or one.late is None:
        return status.detail or _at_work(one, _sign(one)), ""
    late = f"· {quiet.late_words(one.late)}  "  # no ✓: nobody knows yet whether it goes on
    return _at_work(one, late if one.late < LATE else f"{late} {t('S where each rank stands')}  "), ""


def closing(text: str, seconds: int, width: int) -> str:
    """A health line's first parts, as many as have room whole, and that the screen will close by itself.

    The first part may be the cause of a failure: where it has no room beside the whole notice, the notice is short; then
    it is cut itself, since whoever still reads must know that a key keeps the screen open.
    """
    notice = t("closing in {n} s, any key keeps it open", n=seconds)
    first, *others = text.split(GAP)
    if cell_len(first) + len(GAP) + cell_len(notice) > width:
        notice = t("any key keeps it open, {n} s left", n=seconds)
    room = width - cell_len(notice) - len(GAP)
    line = fit(first, max(0, min(room, cell_len(first))))
    for part in others:
        if cell_len(line) + len(GAP) + cell_len(part) > room:
            break
        line += GAP + part
    return line + GAP + notice


def _sign(one: Overview) -> str:
    """✓ only for a run that goes on: one that is being stopped, or was, has its state's."""
    state = one.status.state
    return "✓" if state in ALIVE and state in overview.GOES_ON else overview.state_word(state).partition(" ")[0]


def _at_work(one: Overview, sign: str) -> str:
    """The newest row's numbers behind a sign, or the phase before the first one."""
    row = one.view.last_row
    if row is not None:
        shown = [f"{name} {value:.4g}" for name, value in row.values.items() if name in _SHOWN]
        return f"{sign} " + "   ".join(shown)
    return "· " + overview.phase_told(one)


def _silence(one: Overview) -> str:
    """How long a run says nothing, and the key that shows why; since when stands last, where a narrow line cuts it."""
    progress = one.view.progress
    where = overview.progress_words(one) if progress is not None else phase_words(one.view.phase)
    return t(
        "{silence}   S where each rank stands   x stop   last: {where}",
        silence=overview.reason(one),
        where=where,
    )


def _smoke(result: Result) -> tuple[str, str]:
    """How a smoke test went; the key that goes on from it stands where a narrow line has it too."""
    if result.passed:
        return GAP.join((f"✓ {t('smoke test passed')}", f"P {t('the full run')}", t("; ").join(result.reasons))), "good"
    return f"✗ {result.words()}", "bad"


def _failure(one: Overview) -> str:
    """Why it died: the cause, else the first error line, else what is known of its end."""
    code = t("exit code {code}", code=one.status.exit_code)
    if one.cause is not None:
        return f"✗ {safe(one.cause.words())}   d {t('cause')}" + (f"   {one.why}" if one.why else "")
    if one.view.errors:
        mark = next((m for m in one.view.errors if m.path != one.folder.output), one.view.errors[0])
        return f"✗ {t('{place}: {words}', place=code, words=safe(mark.text))}   d {t('cause')}"
    said = t("{code}. {detail}", code=code, detail=one.status.detail)
    return "✗ " + (t("{place}: {words}", place=said, words=one.why) if one.why else said)


_SHOWN = ("loss", "reward", "grad_norm", "learning_rate", "token_acc", "kl")
