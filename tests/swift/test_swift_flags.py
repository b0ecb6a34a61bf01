"""Flags that ms-swift 4.6.0 does not know, against the real one."""

from __future__ import annotations

from tests.swift.swift_runs import Bench


def test_prl_against_the_real_ms_swift_4_6_is_refused_with_the_three_dead_flags(bench: Bench) -> None:
    done = bench.prl("launch", "prl-grpo", "--set", f"training_env={bench.python.parent.parent}")
    assert done.returncode == 1
    for flag in ("--train_type", "--num_infer_workers", "--use_lmdeploy"):
        assert f"ms-swift 4.6.0 does not know {flag}." in done.stderr
    assert not bench.prl("runs").stdout
