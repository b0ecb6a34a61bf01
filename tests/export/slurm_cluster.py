"""Two Slurm nodes on one box: real munged, slurmctld and slurmd of a test, with sockets and ports of their own.

GPUs are character devices that nothing opens: with plain files Slurm 22.05.8 leaves CUDA_VISIBLE_DEVICES empty.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CONFIG = """ClusterName=prl
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge/sock
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/d-%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
GresTypes=gpu
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{second}] CPUs=4 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes=n[1-2] Default=YES MaxTime=1:00:00 State=UP
"""
GPUS = "NodeName=n1 Name=gpu File={at}/gpu[0-1]\nNodeName=n2 Name=gpu File={at}/gpu[2-3]\n"
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")


def missing() -> str:
    """Why no cluster can be started here, or ""."""
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    if lacking:
        return f"Slurm and munge are not installed: {', '.join(lacking)}"
    return "" if os.geteuid() == 0 else "the daemons and their device files need root"


class Cluster:
    """Running daemons; `submit` runs one batch file to its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def call(self, *words: str, **more: str) -> str:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=60, env={**self.env, **more}, cwd=self.folder
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def submit(self, file: Path, *options: str, **env: str) -> tuple[dict[str, str], str]:
        """What scontrol says of the finished job, and its log."""
        job = self.call("sbatch", "--parsable", *options, str(file), **env).strip()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            said = self.call("scontrol", "show", "job", job)
            facts = dict(word.split("=", 1) for word in said.split() if "=" in word)
            if facts["JobState"] not in {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}:
                return facts, Path(facts["StdOut"]).read_text("utf-8")
            time.sleep(0.2)
        raise AssertionError(f"job {job} did not end: {said}")


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster in a folder; its daemons end with it."""
    _prepare(folder)
    made = Cluster(folder)
    munge = folder / "munge"
    daemons = []
    try:
        words = ["munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/sock",
                 f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed"]  # fmt: skip
        for command in (words, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", "n1"], ["slurmd", "-D", "-N", "n2"]):
            quiet = subprocess.DEVNULL
            daemons.append(subprocess.Popen(command, env=made.env, stdout=quiet, stderr=quiet))
            if command is words:
                _wait((munge / "sock").exists, "munged")
        _wait(lambda: _idle(made) == 2, "two idle nodes")
        yield made
    finally:
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in reversed(daemons):
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _prepare(folder: Path) -> None:
    for name in ("state", "d-n1", "d-n2", "munge"):
        (folder / name).mkdir(parents=True)
    (folder / "munge").chmod(0o755)
    (folder / "munge" / "key").write_bytes(os.urandom(1024))
    (folder / "munge" / "key").chmod(0o400)
    for number in range(4):
        os.mknod(folder / f"gpu{number}", 0o666 | 0o020000, os.makedev(195, number))
    host = socket.gethostname().partition(".")[0]
    control, first = _free(1), _free(2)
    text = CONFIG.format(at=folder, host=host, control=control, first=first, second=first + 1)
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(GPUS.format(at=folder))
    (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")


def _free(count: int) -> int:
    """The first of some neighbouring free ports."""
    for first in range(27000 + os.getpid() % 2000, 32000, 7):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first if count > 1 else first + 3
    raise AssertionError("no free ports")


def _idle(made: Cluster) -> int:
    words = ["sinfo", "-h", "-N", "-o", "%T"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, env=made.env)
    return done.stdout.split().count("idle")


def _wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.1)
