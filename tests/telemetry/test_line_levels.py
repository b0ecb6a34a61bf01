"""Levels of lines as real programs write them."""

from __future__ import annotations

import pytest

from prl_tui.telemetry.line_levels import LEVELS, TRIGGERS, level_of
from prl_tui.telemetry.line_tests import LevelTest

LINES = [
    ("[INFO:swift] Using data/train", "info"),
    ("[WARNING:swift] Please install flash-attn", "warning"),
    ("WARNING:root:x", "warning"),
    ("2026-11-27 21:34:48 | WARNING  | a | b", "warning"),
    ("INFO 11-27 21:00:01 [core.py:400] init", "info"),
    ("WARNING 11-27 21:00:01 [core.py:400] slow", "warning"),
    ("ERROR 11-27 21:00:01 [core.py:400] EngineCore failed", "error"),
    ("/x/y.py:12: UserWarning: lr_scheduler", "warning"),
    ("/x/y.py:12: FutureWarning: `torch.load`", "warning"),
    ("[rank0]:[W1127 21:47:06.46 ProcessGroupNCCL.cpp:1250] Warning: WARNING", "warning"),
    ("W1127 21:47:06.460000 15270 torch/distributed/run.py:793] ****", "warning"),
    ("I1127 21:47:06.460000 15270 torch/distributed/run.py:793] up", "info"),
    ("E1127 21:47:06.460000 15270 torch/distributed/elastic/x.py:1002] failed", "error"),
    ("node:1:2 [0] NCCL WARN Call to connect failed", "warning"),
    ("node:1:2 [0] NCCL INFO Bootstrap", "info"),
    ("[rank1]: RuntimeError: simulated", "error"),
    ("gcc: warning: unused", "warning"),
    ("{'loss': 0.0331, 'grad_norm': 0.0031}", None),
    ("Train:  10%|█ | 1/10 [00:01<00:09]", None),
    ("--log_level=WARNING,", None),
    ("warnings.warn(", None),
    ("no_info=INFOS", None),
]


@pytest.mark.parametrize(("text", "level"), LINES)
def test_a_line_has_the_level_that_it_says(text, level):
    assert level_of(text) == level


def test_each_level_is_found_in_the_bytes_of_its_lines():
    for text, level in LINES:
        if level is not None:
            assert TRIGGERS[level].search(f"a\n{text}\nb".encode()), text


@pytest.mark.parametrize(("least", "count"), list(zip(LEVELS, (1, 2, 3), strict=True)))
def test_a_level_means_the_graver_ones_too(least, count):
    assert LevelTest.from_on(least).levels == set(LEVELS[:count])
