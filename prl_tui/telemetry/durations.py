"""Durations and speeds: read from what engines print, written the one way this program shows them."""

from __future__ import annotations

import math
import re

from prl_tui.i18n import t

UNKNOWN = "–"

_UNITS = re.compile(r"\s*(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+(?:\.\d+)?)\s*s)?\s*")
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d\d)")


def parse_duration(text: str) -> float | None:
    """Seconds in ms-swift's `30d 19h 24m 36s` (any unit may be missing), else None."""
    match = _UNITS.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return _finite(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def parse_clock(text: str) -> float | None:
    """Seconds in tqdm's `8:16:53` or `00:14`, else None (it writes `?` before it knows)."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return _finite((hours * 60 + minutes) * 60 + seconds)


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def format_duration(seconds: float | None) -> str:
    """The two largest units: `2 d 03 h`, `8 h 04 m`, `4 m 05 s`, `41 s`; a dash when unknown."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return UNKNOWN
    whole = round(seconds)
    if whole < 60:
        return t("{seconds} s", seconds=whole)
    if whole < 3600:
        return t("{minutes} m {seconds} s", minutes=whole // 60, seconds=f"{whole % 60:02}")
    if whole < 86400:
        return t("{hours} h {minutes} m", hours=whole // 3600, minutes=f"{whole // 60 % 60:02}")
    return t("{days} d {hours} h", days=f"{whole // 86400:,}", hours=f"{whole // 3600 % 24:02}")


def format_speed(seconds_per_step: float | None) -> str:
    """`3.1 s/it`, or `4.8 it/s` where a step takes less than a second; a dash when unknown."""
    if seconds_per_step is None or not math.isfinite(seconds_per_step) or seconds_per_step <= 0:
        return UNKNOWN
    slow = seconds_per_step >= 1
    number = seconds_per_step if slow else 1 / seconds_per_step
    digits = f"{number:.1f}" if number < 99.95 else f"{number:,.0f}"
    return t("{number} s/it", number=digits) if slow else t("{number} it/s", number=digits)
