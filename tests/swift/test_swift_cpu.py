"""What a run on the CPU takes and what a single process does, against the real ms-swift 4.6.0 (transformers 5.19.0, accelerate 1.15.0).

The bounds of `launch` are gone round: the plan's own command runs, and the program says what `needs` of the recipe say before.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from prl_tui.core import checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.plan import build
from tests.built_in import RECIPES
from tests.swift.swift_runs import Bench

NCCL = "Your assigned backend nccl is not available, please use gloo"
NO_GROUP = "Default process group has not been initialized"


def of(bench: Bench, **values: object) -> RunConfig:
    """swift-sft for one step of the tiny model."""
    given = dict(word.split("=", 1) for word in bench.options("swift-sft") if "=" in word)
    small = {
        "max_steps": 1,
        "split_dataset_ratio": 0,
        "eval_strategy": None,
        "save_strategy": "no",
        "ddp_backend": None,
    }
    return resolve(RECIPES["swift-sft"], "").with_values(
        {**given, **small, "cuda_visible_devices": None, **values}, Source.SET
    )


def ran(bench: Bench, config: RunConfig) -> subprocess.CompletedProcess[str]:
    plan = build(config)
    path = f"{bench.python.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **dict(plan.env), "PATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(plan.argv, cwd=bench.here, env=env, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(("values", "said"), [
    ({"nproc_per_node": 1, "ddp_backend": "nccl"}, NCCL),
    ({"nproc_per_node": 2, "ddp_backend": "nccl"}, NCCL),
    ({"nproc_per_node": 1, "ddp_backend": "gloo", "launcher": "swift"}, NO_GROUP),
    ({"nproc_per_node": 1, "ddp_backend": "nccl", "launcher": "swift"}, NO_GROUP),
    ({"nproc_per_node": 1, "attn_impl": "flash_attn"}, "FlashAttention2 has been toggled on, but it cannot be used"),
])  # fmt: skip
def test_the_real_program_stops_where_check_has_an_error_and_its_way_out_runs(
    bench: Bench, values: dict[str, object], said: str
) -> None:
    config = of(bench, **values)
    errors = [found for found in checks.check(config).findings if found.severity == "error"]
    assert errors
    done = ran(bench, config)
    assert done.returncode
    assert said in done.stderr + done.stdout
    mended = ran(bench, config.with_values(errors[0].fixes[0].changes, Source.FIX))
    assert mended.returncode == 0, mended.stderr[-3000:]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_runs_on_the_cpu(bench: Bench, dtype: str) -> None:
    config = of(bench, nproc_per_node=2, torch_dtype=dtype)
    assert checks.check(config).ok
    done = ran(bench, config)
    assert done.returncode == 0, done.stderr[-3000:]
