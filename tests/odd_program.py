"""A small recipe of a person's own for tests: `python train.py` in this environment, no GPU needed."""

from __future__ import annotations

HEAD = """
schema = 1
name = "odd"
title = { en = "odd" }
launcher = "python"
needs_gpu = false
[program.python]
script = "train.py"
"""
STEPS = """
[[field]]
key = "steps"
type = "int"
group = "schedule"
label = { en = "steps" }
default = 3
min = 1
max = 99
"""
PRESET = """
[presets.one]
values = { training_env = "this" }
"""


def recipe(more: str = "") -> str:
    """The recipe's file, with what stands between the program and the preset."""
    return HEAD + more + PRESET
