"""Which ranks stopped to write, by when each last did."""

from __future__ import annotations

import pytest

from prl_tui.telemetry.silent_ranks import SILENT_AFTER, silent

NOW = 1_000_000.0
OLD = NOW - SILENT_AFTER - 1


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({}, ()),
        ({0: NOW, 1: OLD}, ()),
        ({0: NOW, 1: OLD, 2: NOW}, (1,)),
        ({0: NOW, 1: NOW - 1, 2: NOW - SILENT_AFTER}, ()),
        ({0: NOW, 1: OLD, 2: OLD}, ()),
        (dict.fromkeys(range(8), NOW) | {3: OLD, 6: OLD}, (3, 6)),
        (dict.fromkeys(range(8), OLD) | {0: NOW}, ()),
    ],
)
def test_few_that_fell_behind_the_others_are_odd(written, found):
    assert silent(written) == found
