"""What is wrong with this box for training, and how to mend it: each finding a value with its state and one way out.

Nothing here starts a run or loads an engine. What may hang (a name server, a driver, systemd) is asked in a child or a
thread with a deadline.
"""

from __future__ import annotations

import re
import resource
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from prl_tui.i18n import nt, t
from prl_tui.lists import listed, sentence
from prl_tui.machine import host as hosts
from prl_tui.machine import ports, session_end
from prl_tui.machine.doctor_item import Item, State
from prl_tui.machine.gpus import GpuSnapshot

GIB = 2**30
LITTLE_SHM = 1 * GIB
"""Bytes of /dev/shm below which loaders and NCCL run out; a container's default is 64 MiB."""
LITTLE_DISK, NO_DISK = 20 * GIB, 1 * GIB
PORT = 29500
"""torchrun's and ms-swift's default."""
NAME_WITHIN = 3.0
"""Seconds that a name server may take."""
_HARMLESS = {"no-driver", "no-gpus"}
"""A box without GPUs is no broken box."""


def examine(snapshot: GpuSnapshot, folders: Mapping[str, Path], root: Path = Path("/")) -> list[Item]:
    """Everything about the box. `folders`: what needs room on a disk, by name; `root`: where proc, etc and run lie."""
    return [
        *hostname(),
        *nvml(snapshot),
        shared_memory(hosts.space(root / "dev/shm")),
        *(disk(name, folder) for name, folder in folders.items()),
        memory(root),
        master_port(),
        open_files(),
        session_end.item(root),
    ]


def hostname(name: str = "", within: float = NAME_WITHIN) -> Iterator[Item]:
    """Torchrun's agents look their own name up; without an answer they die at once (socket.gaierror)."""
    name = name or socket.gethostname()
    found: list[str] = []

    def ask() -> None:
        try:
            found.append(str(socket.getaddrinfo(name, None)[0][4][0]))
        except (OSError, UnicodeError) as error:
            found.append(f"!{error.strerror if isinstance(error, OSError) else error}")

    asked = threading.Thread(target=ask, daemon=True)
    asked.start()
    asked.join(within)
    title = t("host name")
    fix = t("Add the line `127.0.1.1 {name}` to /etc/hosts.", name=name)
    if not found:
        told = t("{name} was not resolved within {seconds} s", name=name, seconds=f"{within:.0f}")
        yield Item("hostname", title, told, "warning", fix)
    elif found[0].startswith("!"):
        yield Item(
            "hostname", title, t("{name} does not resolve: {reason}", name=name, reason=found[0][1:]), "error", fix
        )
    else:
        yield Item("hostname", title, listed((name, found[0])))


def nvml(snapshot: GpuSnapshot) -> Iterator[Item]:
    """The driver, as NVML tells it, and every GPU that cannot be used."""
    title = t("NVIDIA driver")
    if snapshot.fault is not None:
        state: State = "warning" if snapshot.fault.code in _HARMLESS else "error"
        yield _said("nvml", title, snapshot.fault.sentence, state, snapshot.fault.code)
        return
    count = len(snapshot.gpus)
    figures = {"driver": snapshot.driver or "–", "cuda": snapshot.cuda or "–"}
    said = nt("{driver}, CUDA up to {cuda}, {n} GPU", "{driver}, CUDA up to {cuda}, {n} GPUs", count, **figures)
    yield Item("nvml", title, said)
    for gpu in snapshot.gpus:
        if gpu.problem is not None:
            yield _said("gpu", t("GPU {index}", index=gpu.index), gpu.problem, "error", gpu.state)


def _said(code: str, title: str, told: str, state: State, fault: str) -> Item:
    fix = _without_way_out().get(fault)
    return Item(code, title, told, state, fix) if fix else _told(code, title, told, state)


def _without_way_out() -> dict[str, str]:
    """What helps against a fault whose sentence tells only what it is; for the screens that is enough."""
    return {
        "no-driver": t("To train on GPUs install the NVIDIA driver, or start the container with --gpus all; without "
                       "GPUs nothing is to be mended: a run that needs none, such as the demo, trains on the CPU."),
        "no-gpus": t("In a container ask for GPUs (docker run --gpus all); else `lspci` shows whether the box has any."),
        "reader-ended": t("Run `prl-tui gpus` again; where it ends again, `dmesg` may show who ended it."),
        "denied": t("Ask for access to /dev/nvidia*, or for this GPU in the container."),
        "other": t("`nvidia-smi` and `dmesg` on the host may show more."),
    }  # fmt: skip


def _told(code: str, title: str, told: str, state: State) -> Item:
    """A sentence whose way out stands behind its colon."""
    said, *rest = re.split(": |：", told, maxsplit=1)
    way_out = rest[0] if rest else ""
    first = way_out.partition(" ")[0]
    if first.isalpha() and first != "pip":  # a command's or a file's name keeps its own letters
        way_out = way_out[:1].upper() + way_out[1:]
    return Item(code, title, said, state, sentence(way_out) if way_out else "")


def shared_memory(space: hosts.Space | None) -> Item:
    """The room through which loader processes and NCCL pass data."""
    title = "/dev/shm"  # noqa: S108
    if space is None:
        return Item("shm", title, t("not there"), "warning", t("Mount a tmpfs at /dev/shm."))
    value = t("{free} of {total} free", free=size(space.free), total=size(space.total))
    if space.free < LITTLE_SHM:
        fix = t("Start the container with --shm-size=16g, or set dataloader_num_workers to 0.")
        return Item("shm", title, value, "warning", fix)
    return Item("shm", title, value)


def disk(name: str, folder: Path) -> Item:
    """Room for checkpoints, logs or models. Torchrun's ranks die where their logs cannot be written."""
    space = hosts.space(folder)
    title = t("disk, {name}", name=name)
    if space is None:
        return Item("disk", title, str(folder), "unknown")
    value = t("{free} free in {path}", free=size(space.free), path=folder)
    if space.free < NO_DISK:
        return Item("disk", title, value, "error", t("Free some room there, or choose another folder."))
    if space.free < LITTLE_DISK:
        fix = t("One checkpoint of a 7B model with its optimizer takes tens of GiB; keep fewer (save_total_limit).")
        return Item("disk", title, value, "warning", fix)
    return Item("disk", title, value)


def memory(root: Path) -> Item:
    """Main memory and processors that this process may use."""
    space, cpus = hosts.memory(root), hosts.cpu_count(root)
    if space is None:
        return Item("memory", t("memory"), t("{n} {n:processor|processors}", n=cpus), "unknown")
    value = t(
        "{free} of {total} free, {n} {n:processor|processors}", free=size(space.free), total=size(space.total), n=cpus
    )
    return Item("memory", t("memory"), value)


def master_port(port: int = PORT) -> Item:
    """The port that most scripts fix."""
    title = t("port {port}", port=port)
    if ports.port_free(port):
        return Item("port", title, t("free"))
    owner = ports.port_owner(port)
    who = (
        " ".join(part for part in (owner.user, owner.command, f"pid {owner.pid}" if owner.pid else "") if part)
        if owner
        else ""
    )
    value = t("taken by {owner}", owner=who) if who else t("taken")
    fix = t("A launch here takes a free port unless one is fixed; unset master_port in scripts that fix this one.")
    return Item("port", title, value, "warning", fix)


def open_files() -> Item:
    """Descriptors: each loader process, log and connection takes some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < 4096:
        shown = "∞" if hard < 0 else str(hard)
        return Item("files", t("open files"), t("at most {soft} (limit {hard})", soft=soft, hard=shown), "warning",
                    t("Run `ulimit -n 65536` before a launch, or raise it in /etc/security/limits.conf."))  # fmt: skip
    return Item("files", t("open files"), t("at most {soft}", soft="∞" if soft < 0 else soft))


def size(count: int) -> str:
    """Bytes in GiB, or MiB below one."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / 2**20:.0f} MiB"
