"""Runs whose exit code hides failures: what their log says of them is told, their state stays what it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from prl_tui.cli import watching
from prl_tui.core.recipe import Outputs
from prl_tui.core.value import plain
from prl_tui.runs import launcher, overview
from prl_tui.telemetry.console import ConsoleFormat, ConsoleReader
from prl_tui.tui import run_words
from tests.built_in import RECIPES
from tests.runs.helpers import ended

REPORT = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
HIDES = "of a failure that the exit code hides: "
VLM = RECIPES["vlm-sft"].data.outputs


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_failures_are_counted_however_the_log_comes(tmp_path: Path, size: int) -> None:
    """AnyLLM-to-VLM's three lines of what it goes on from, as its source has them, among those that are none."""
    log = tmp_path / "output.log"
    reader = ConsoleReader([log], ConsoleFormat(failures=VLM.failures))
    text = (
        "训练器初始化完成\nEpoch: 1/1, Step: 1, Loss: 2.3, LR: 1e-03\n训练步骤 3 出现错误: shape [4]\r\n"
        "步骤 4 CUDA内存不足，跳过此batch\n警告: 训练数据文件不存在: d.parquet\n检查点保存到: a.pt\n训练完成!\n"
    ).encode()
    with log.open("ab", buffering=0) as file:
        for start in range(0, len(text), size):
            file.write(text[start : start + size])
            reader.poll()
    reader.poll(ended=True)
    assert reader.swallowed.found is not None
    assert (reader.swallowed.found.text, reader.swallowed.found.count) == ("训练步骤 3 出现错误: shape [4]", 3)


def written(root: Path, code: str, outputs: Outputs | None = None) -> overview.Overview:
    """The line of a run of this Python code, ended."""
    info = {"outputs": plain(outputs)} if outputs else {}
    ended(launcher.start(root, launcher.Job((sys.executable, "-c", code), info=info)))
    [one] = overview.overviews(root)
    return one


def test_a_run_that_hides_failures_is_no_clean_one(root: Path) -> None:
    code = "for n in range(20): print(f'训练步骤 {n} 出现错误: shape')\nprint('训练完成!')"
    one = written(root, code, VLM)
    assert (one.status.state, one.status.exit_code, one.cause) == ("finished", 0, None)
    assert overview.status_word(one) == "! finished"
    assert overview.reason(one) == f"20 lines of its log tell {HIDES}训练步骤 0 出现错误: shape"
    assert watching.ending(one)[1] == f"  {overview.reason(one)}"
    assert run_words.health(one) == (f"! {overview.reason(one)}", "warn")
    assert overview.as_data(one)["state"] == "finished"
    assert overview.as_data(one)["detail"] == overview.reason(one)


@pytest.mark.parametrize("code", ["print('an ERROR was mended')", "print('loss 1.0')"])
def test_a_clean_run_hides_none(root: Path, code: str) -> None:
    one = written(root, code, VLM)
    assert (overview.status_word(one), overview.reason(one)) == ("✓ finished", "")


def test_what_fails_says_its_cause_alone(root: Path) -> None:
    one = written(root, f"print('{REPORT}')\nraise SystemExit(3)")
    assert one.status.state == "failed"
    assert HIDES not in overview.reason(one)


@pytest.mark.torch
def test_torchrun_in_a_pipe_without_pipefail(root: Path, tmp_path: Path) -> None:
    """As Safe-MM-DPO's script has it: the real torchrun's report (2.13 here) is in the log, `tee` returns 0."""
    program = tmp_path / "fails.py"
    program.write_text("import os\nassert os.environ['RANK'] != '1', 'bad rank'")
    line = f"torchrun --standalone --nproc_per_node=2 {program} 2>&1 | tee {tmp_path}/log"
    environment = (("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin"),)
    ended(launcher.start(root, launcher.Job(("bash", "-c", line), env=environment)), 120)
    [one] = overview.overviews(root)
    assert (one.status.state, one.status.exit_code) == ("finished", 0)
    assert overview.reason(one) == f"1 line of its log tells {HIDES}{REPORT.strip()}"
    assert json.dumps(overview.as_data(one))
