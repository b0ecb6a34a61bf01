"""What is said about a process, and what never is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.machine.processes import GpuProcessBook, describe, may_use_gpu, printable, short_command, user_name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["/usr/bin/python3.11", "-u", "/home/a/train.py", "--hub_token", "hf_x"], "python3.11 train.py"),
        (["python", "-m", "swift.cli.rlhf", "--rlhf_type", "grpo"], "python -m swift.cli.rlhf"),
        (["python", "-W", "ignore", "-X", "dev", "a b.py"], "python a b.py"),
        (["python", "-c", "import secrets"], "python -c"),
        (["bash", "-lc", "export HF_TOKEN=hf_x; python train.py"], "bash -c"),
        (["bash", "run.sh"], "bash run.sh"),
        (["/opt/my tools/torchrun", "--nproc_per_node=4", "x.py"], "torchrun"),
        (["VLLM::EngineCore"], "VLLM::EngineCore"),
        (["sshd: alice [priv]"], "sshd"),
        (["python", "-m"], "python -m"),
        ([], None),
        ([""], None),
    ],
)
def test_a_command_is_program_and_script_without_arguments(arguments, words):
    assert short_command(arguments) == words


def test_hostile_names_become_harmless_text():
    assert printable("[/INST]\x1b[2J\x1b]0;pwn\x07\u202e\ufe0f\u200d\n") == "[/INST]·[2J·]0;pwn····"
    assert printable("训练.py") == "训练.py"
    assert printable("\udcff") == "·"


def test_our_own_process_is_described():
    found = describe(os.getpid())
    assert found is not None
    assert found.user == user_name(os.getuid())


@pytest.mark.parametrize("pid", [0, -1, 4294967295, 2**63])
def test_an_impossible_number_is_nobody(pid):
    assert describe(pid) is None


def test_a_number_of_another_pid_namespace_is_not_mistaken_for_ours(tmp_path: Path):
    # As a container sees it: the driver says 4242 and means the host's; here 4242 is something without CUDA.
    folder = tmp_path / "4242"
    (folder / "fd").mkdir(parents=True)
    (folder / "maps").write_text("7f00-7f01 r-xp 0 08:01 1 /usr/lib/libc.so.6\n")
    container = 4026532000
    assert not may_use_gpu(4242, tmp_path, container)
    assert not may_use_gpu(4243, tmp_path, container)
    assert may_use_gpu(4242, tmp_path, 4026531836)
    (folder / "fd" / "7").symlink_to("/dev/nvidia0")
    assert may_use_gpu(4242, tmp_path, container)
    (folder / "fd" / "7").unlink()
    (folder / "maps").write_text("7f00-7f01 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04\n")
    assert may_use_gpu(4242, tmp_path, container)


def test_a_number_that_is_used_again_is_read_again():
    book = GpuProcessBook()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as job:
        first = book.look_up(job.pid)
        assert first is not None
        assert book.look_up(job.pid) is first
        job.communicate(b"\n")
    assert book.look_up(job.pid) is None
