"""Smoke tests of the swift recipes, judged from ms-swift's own logging.jsonl."""

from __future__ import annotations

from tests.swift.swift_runs import Bench


def test_grpo_is_smoke_tested_and_its_full_run_is_the_same_command(bench: Bench) -> None:
    longer = {"max_steps": "40", "eval_steps": "20", "save_steps": "20", "logging_steps": "5"}
    ended = bench.run("swift-grpo", "--smoke", "2", **longer)
    assert ended.code == 0, ended.told
    assert "✓ smoke test passed: 2 steps logged; evaluated; a checkpoint saved; exit code 0" in ended.told
    full = bench.prl("launch", ended.run.id, "--promote", "--dry-run")
    assert full.stdout == bench.prl("launch", "swift-grpo", "--dry-run", *bench.options("swift-grpo", **longer)).stdout
