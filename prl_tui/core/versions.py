"""Versions as texts: which numbers they have, and whether one fits a bound."""

from __future__ import annotations


def fits(installed: str, wanted: str) -> bool:
    """Whether a version such as `4.6.0` is one of `>=4.0` or `<3.5`."""
    have, sign = release(installed), wanted.rstrip("0123456789.")
    bound = release(wanted[len(sign) :])
    width = max(len(have), len(bound))
    left, right = (part + (0,) * (width - len(part)) for part in (have, bound))
    return {">=": left >= right, "<": left < right, "==": left == right}.get(sign.strip(), True)


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version: 3.3.0 of `3.3.0.dev0`, 2.13.0 of `2.13.0+cu130`."""
    numbers = []
    for part in version.partition("+")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
