"""The batch of the guides' smaller programs, row by row; each row names who said so."""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import Source
from prl_tui.core.findings import Facts
from tests.recipes.goldens import config

VLM = "AnyLLM-to-VLM, train_vlm.py at 11a3a25: batch_size // world_size; trainer/vlm_trainer.py: a step every accumulation_steps"
TORCH = "torch 2.13's DataLoader: batch_size=0 is a ValueError"
SFT = "MiniOneRec, sft.py at 81b4ba9: batch // micro // world; transformers 4.57.1 and 5.16.1 for the 0"
RM = "mmdpo-alignment, train_rm.py at 69d65ca and 227104e: optimizer.step() outside the accumulation's if, forward by model.module"
DPO = "mmdpo-alignment, train_safe_mm_dpo.py at 0e00049: its printed `Effective batch size`, forward by model.module"


def vlm(batch, world, accumulation):
    return "vlm-pretrain", "four-gpu", {
        "batch_size": batch, "nproc_per_node": world, "cuda_visible_devices": "", "accumulation_steps": accumulation,
        "config_source": "generate",
    }  # fmt: skip


def sft(batch, micro, world):
    return "minionerec-sft", "eight-gpu", {
        "batch_size": batch, "micro_batch_size": micro, "nproc_per_node": world, "cuda_visible_devices": "",
    }  # fmt: skip


def mmdpo(recipe, batch, accumulation, world):
    preset = {"reward-model": "helpful-8gpu", "safe-mm-dpo": "eight-gpu"}[recipe]
    return recipe, preset, {
        "batch_size": batch, "gradient_accumulation_steps": accumulation, "nproc_per_node": world, "config_source": "generate",
    }  # fmt: skip


ROWS = [
    (VLM, vlm(32, 4, 1), (8, 1, 32), []),
    (VLM, vlm(22, 4, 2), (5, 2, 40), ["total-batch-rounds-down"]),
    (VLM, vlm(36, 8, 4), (4, 4, 128), ["total-batch-rounds-down"]),
    (TORCH, vlm(2, 4, 1), (0, 1, 0), ["total-batch-too-small"]),
    (SFT, sft(1024, 16, 8), (16, 8, 1024), []),
    (SFT, sft(1024, 16, 6), (16, 10, 960), ["batch-rounds-down"]),
    (SFT, sft(1024, 16, 4), (16, 16, 1024), []),
    (SFT, sft(128, 16, 16), (16, 0, 0), ["accumulation-zero"]),
    (RM, mmdpo("reward-model", 4, 2, 8), (4, 1, 32), ["accumulation-without-effect", "gradients-apart"]),
    (RM, mmdpo("reward-model", 8, 1, 8), (8, 1, 64), ["gradients-apart"]),
    (RM, mmdpo("reward-model", 8, 1, 1), (8, 1, 8), []),
    (DPO, mmdpo("safe-mm-dpo", 4, 4, 8), (4, 4, 128), ["gradients-apart"]),
    (DPO, mmdpo("safe-mm-dpo", 16, 4, 1), (16, 4, 64), []),
]


@pytest.mark.parametrize(("judge", "case", "figures", "codes"), ROWS)
def test_a_row(judge, case, figures, codes):
    found = checks.check(config(*case))
    batch = found.batch
    assert (batch.per_device, batch.accumulation, batch.global_batch) == figures, judge
    assert [f.code for f in found.findings if f.severity != "note"] == codes, judge


@pytest.mark.parametrize(("rows", "steps"), [(90, 22), (31, 8), (4, 0)])
def test_safe_mm_dpo_updates_where_an_accumulation_ends_within_an_epoch(rows, steps):
    # DPO: `step % accumulation == 0` with step from 1 in each epoch: ceil(ceil(rows / 2) / 2) // 2 of them, twice.
    found = checks.check(config(*mmdpo("safe-mm-dpo", 2, 2, 2)), Facts(rows=rows))
    assert found.steps.total == steps
    assert ("no-update" in [f.code for f in found.findings]) == (steps == 0)


@pytest.mark.parametrize(("rows", "steps"), [(20, 0), (100, 9), (101, 9), (32, 3)])
def test_the_vlm_trainer_updates_where_an_accumulation_ends_within_an_epoch(rows, steps):
    # VLM: `(step + 1) % accumulation_steps == 0` with step from 0 in each epoch: ceil(ceil(rows / 2) / 4) // 4 of them, thrice.
    case = "vlm-sft", "two-gpu", {"epochs": 3, "accumulation_steps": 4, "config_source": "generate"}
    found = checks.check(config(*case), Facts(rows=rows))
    assert found.steps.total == steps
    errors = [finding for finding in found.findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == (["no-update"] if steps == 0 else [])
    for error in errors:
        assert error.fixes
        for fix in error.fixes:
            mended = checks.check(found.config.with_values(fix.changes, Source.FIX), Facts(rows=rows))
            assert mended.ok
            assert mended.steps.total
