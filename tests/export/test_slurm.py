"""Slurm batch files. Judges: Slurm 22.05.8's own daemons on two emulated nodes with torchrun 2.13, and shellcheck 0.11."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export import slurm_cluster
from tests.export.scripts import Bench
from tests.export.test_bash_script import shellcheck

CUSTOM = resolve(RECIPES["custom"], "torchrun")

# What srun does, for one node: its task gets what a real one gets.
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
SLURM_NODEID=0 SLURM_LAUNCH_NODE_IPADDR=10.0.0.7 exec "$@"
"""
JOB = {"SLURM_JOB_ID": "60123", "SLURM_JOB_NUM_NODES": "1", "CUDA_VISIBLE_DEVICES": "2,5"}

RANK = """import json, os, sys, torch.distributed as dist
dist.init_process_group("gloo")
found = [None] * dist.get_world_size()
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES", "SLURM_NODEID", "NOTE", "MY_TOKEN")
mine = {"argv": sys.argv[1:], **{name: os.environ.get(name) for name in names}}
dist.all_gather_object(found, mine)
if dist.get_rank() == 0:
    print("RANKS", json.dumps(found), flush=True)
dist.barrier()
if os.environ.get("FAIL_ON") == str(dist.get_rank()):
    os._exit(9)
dist.destroy_process_group()
"""
NASTY = "/data/a b/中文 $x `y` \"q\" 'z' %j \\ ; --e\nline 🚀"


def text_of(config: RunConfig) -> str:
    return FORMATS["slurm"](plan.build(config)).text


def with_gpus(**more: object) -> RunConfig:
    return CUSTOM.with_values({"cuda_visible_devices": "0,1", **more}, Source.SET)


@pytest.fixture
def slurm(bench: Bench) -> Bench:
    (bench.bin / "srun").write_text(SRUN)
    (bench.bin / "srun").chmod(0o755)
    return bench


def test_the_scheduler_gives_gpus_address_and_port(slurm: Bench) -> None:
    outcome = slurm.run(text_of(with_gpus(arguments=["--path", NASTY])), **JOB)
    assert outcome.err == ""
    assert outcome.argv == ["torchrun", "--nproc_per_node=2", "--master_port=20123", "train.py", "--path", NASTY]
    assert outcome.env["CUDA_VISIBLE_DEVICES"] == "2,5"


def test_a_value_with_line_ends_of_dos_leaves_none_in_the_file(slurm: Bench) -> None:
    """Slurm 22.05.8: `Batch script contains DOS line breaks`, wherever they stand; the value arrives all the same."""
    text = text_of(with_gpus(arguments=["a\r\n'b'\r\n", "\r\n", "\r"], environment=["NOTE=x\r\ny"]))
    assert "\r\n" not in text
    outcome = slurm.run(text, **JOB)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[-3:] == ["a\r\n'b'\r\n", "\r\n", "\r"]
    assert outcome.env["NOTE"] == "x\r\ny"


def test_gpus_that_were_not_given_stop_the_job(slurm: Bench) -> None:
    outcome = slurm.run(text_of(with_gpus()), **{**JOB, "CUDA_VISIBLE_DEVICES": ""})
    assert (outcome.argv, outcome.code) == (None, 1)
    assert outcome.err.splitlines() == ["error: Slurm gave this job no GPUs: CUDA_VISIBLE_DEVICES is empty."]


def test_fewer_gpus_than_processes_stop_the_job(slurm: Bench) -> None:
    outcome = slurm.run(text_of(resolve(RECIPES["prl-grpo"], "standard-4gpu")), **JOB)
    assert (outcome.argv, outcome.code) == (None, 1)


def test_outside_slurm_it_stops_with_one_line(slurm: Bench) -> None:
    outcome = slurm.run(text_of(with_gpus()))
    assert (outcome.argv, outcome.code, len(outcome.err.splitlines())) == (None, 1, 1)
    assert "sbatch" in outcome.err


def test_the_engines_code_is_the_jobs_code(slurm: Bench) -> None:
    slurm.code = 9
    assert slurm.run(text_of(with_gpus()), **JOB).code == 9


def test_plain_python_on_more_nodes_than_the_file_says_stops_with_one_line(slurm: Bench) -> None:
    outcome = slurm.run(text_of(resolve(RECIPES["custom"], "python")), **{**JOB, "SLURM_JOB_NUM_NODES": "2"})
    assert (outcome.argv, outcome.code) == (None, 1)
    assert outcome.err == "error: python starts one process: it cannot run on several nodes.\n"


@pytest.mark.parametrize("one", RECIPES.values(), ids=lambda one: one.name)
def test_shellcheck_finds_nothing_and_directives_come_first(one: object, tmp_path: Path) -> None:
    text = text_of(resolve(one, one.data.default_preset))  # type: ignore[attr-defined,arg-type]
    lines = text.split("\n")
    last = max(index for index, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert all(line.startswith("#") for line in lines[: last + 1])
    assert "\r" not in text
    path = tmp_path / "job.sbatch"
    path.write_text(text, "utf-8")
    done = subprocess.run([shellcheck(), str(path)], capture_output=True, text=True, timeout=60)
    assert done.stdout + done.stderr == ""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm_cluster.Cluster]:
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    with slurm_cluster.cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made


def submitted(real: slurm_cluster.Cluster, config: RunConfig, **env: str) -> tuple[dict[str, str], str]:
    engine = real.folder / "train 中文.py"
    engine.write_text(RANK)
    config = config.with_values({"script": str(engine)}, Source.SET)
    file = real.folder / "job.sbatch"
    file.write_text(text_of(config), "utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return real.submit(file, PATH=path, LC_ALL="C.UTF-8", GLOO_SOCKET_IFNAME="lo", **env)


def ranks(log: str) -> list[dict[str, object]]:
    [line] = [line for line in log.splitlines() if line.startswith("RANKS ")]
    return sorted(json.loads(line.removeprefix("RANKS ")), key=lambda one: int(one["RANK"]))


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("nodes", [1, 2])
def test_real_slurm_runs_one_world_with_every_value_whole(real: slurm_cluster.Cluster, nodes: int) -> None:
    config = with_gpus(arguments=["--path", NASTY], environment=[f"NOTE={NASTY}", "MY_TOKEN"], nnodes=nodes)
    facts, log = submitted(real, config, MY_TOKEN="from,the shell")
    assert facts["JobState"] == "COMPLETED", log
    found = ranks(log)
    assert [one["RANK"] for one in found] == [str(n) for n in range(2 * nodes)]
    assert {one["WORLD_SIZE"] for one in found} == {str(2 * nodes)}
    assert {one["SLURM_NODEID"] for one in found} == {str(n) for n in range(nodes)}
    assert {one["CUDA_VISIBLE_DEVICES"] for one in found} == {"0,1"}
    assert all(one["argv"] == ["--path", NASTY] and one["NOTE"] == NASTY for one in found)
    assert {one["MY_TOKEN"] for one in found} == {"from,the shell"}
    assert "from,the shell" not in log.replace(json.dumps("from,the shell"), "")


@pytest.mark.slow
@pytest.mark.torch
def test_real_slurm_shows_the_code_of_a_rank_that_fails(real: slurm_cluster.Cluster) -> None:
    facts, log = submitted(real, with_gpus(nnodes=2), FAIL_ON="3")
    assert facts["JobState"] == "FAILED", log
    assert facts["ExitCode"] != "0:0"
    assert "exitcode" in log
    assert "9" in log


@pytest.mark.slow
def test_real_slurm_fails_a_job_that_a_variable_makes_wrong(real: slurm_cluster.Cluster) -> None:
    facts, log = submitted(real, with_gpus(), PRL_NPROC_PER_NODE="two")
    assert (facts["JobState"], facts["ExitCode"]) == ("FAILED", "1:0")
    assert "PRL_NPROC_PER_NODE" in log
