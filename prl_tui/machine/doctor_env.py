"""What is wrong with a training environment: its interpreter, its torch against the driver, packages that hide others."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from pathlib import Path

from prl_tui.core.plan import Activation
from prl_tui.core.versions import release
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.machine import conda, environment, paths
from prl_tui.machine.doctor_item import Item
from prl_tui.machine.gpus import GpuSnapshot


def examine(activation: Activation, snapshot: GpuSnapshot, around: Mapping[str, str]) -> Iterator[Item]:
    """The environment of that name; of prl-tui's own only what its screens need."""
    yield binding()
    title = environment.title(activation)
    python = environment.interpreter(activation, around)
    if python is None:
        known = listed(conda.names(around)) if activation.kind == "conda" else ""
        fix = t("conda knows here: {names}.", names=known) if known else t(
            "conda:NAME, the folder of a venv, the path of its python, or this would work."
        )  # fmt: skip
        yield Item("environment", title, t("not there"), "error", fix)
        return
    found = environment.probe(activation, around)
    if found is None:
        fix = t("Try it yourself: `{python} -c 'print(1)'`.", python=python)
        yield Item("environment", title, t("its Python gives no answer"), "error", fix)
        return
    words = found.words() if found.versions else ""
    yield Item("environment", title, " · ".join(part for part in (f"Python {found.version}", words) if part))
    yield from _torch(found, python, snapshot, bool(activation.kind))
    yield from _shadowed(found)


def binding() -> Item:
    """The module pynvml in prl-tui's own environment."""
    title = "pynvml"
    ours, other = _version("nvidia-ml-py"), _version("pynvml")
    if other is not None:
        return Item("binding", title, t("the package pynvml {version} is beside nvidia-ml-py", version=other),
                    "error" if release(other) < (12,) else "warning", t("Uninstall it: pip uninstall pynvml."))  # fmt: skip
    if ours is None:
        return Item("binding", title, t("nvidia-ml-py is not installed"), "error", t("pip install nvidia-ml-py"))
    return Item("binding", title, f"nvidia-ml-py {ours}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _shadowed(found: environment.Environment) -> Iterator[Item]:
    """The old package pynvml brings a folder pynvml/, which hides the module of nvidia-ml-py. 12 is a mere wrapper."""
    version = found.versions.get("pynvml")
    if version is not None and release(version) < (12,):
        told = t("the package pynvml {version} hides the module of nvidia-ml-py", version=version)
        yield Item("pynvml", "pynvml", told, "warning", t("Uninstall it there: pip uninstall pynvml."))


def _torch(found: environment.Environment, python: Path, snapshot: GpuSnapshot, named: bool) -> Iterator[Item]:
    """`named`: somebody meant this very environment, so that it must have torch."""
    if "torch" not in found.versions:
        fix = t("Install it: {python} -m pip install torch", python=python)
        if not named:
            fix = t("Name the training environment: --env conda:NAME, or the folder of a venv.")
        yield Item("torch", "torch", t("not installed"), "error" if named else "warning", fix)
        return
    if not paths.exists(python.parent / "torchrun"):
        fix = t("Reinstall torch there; without it another environment's torchrun would be started.")
        yield Item("torchrun", "torchrun", t("not in {path}", path=python.parent), "error", fix)
    yield cuda(found.cuda, snapshot)


def cuda(built_for: str, snapshot: GpuSnapshot) -> Item:
    """The CUDA of torch's wheel against the driver's. Within one major version a wheel runs on an older driver."""
    title = t("torch's CUDA")
    if built_for == "cpu":
        if snapshot.gpus:
            fix = t("Install a CUDA build of torch: this one never sees the GPUs.")
            return Item("cuda", title, t("a build for the CPU"), "error", fix)
        return Item("cuda", title, t("a build for the CPU"))
    if not built_for:
        return Item("cuda", title, t("not known"), "unknown")
    driver = snapshot.cuda
    if driver is None:
        return Item("cuda", title, t("{wheel}; the driver's is not known", wheel=built_for), "unknown")
    value = t("{wheel}; the driver has {driver}", wheel=built_for, driver=driver)
    wheel, have = release(built_for), release(driver)
    if wheel[:1] > have[:1]:
        fix = t("Update the NVIDIA driver, or install a torch that is built for CUDA {driver} or older.", driver=driver)
        return Item("cuda", title, value, "error", fix)
    if wheel > have:
        fix = t("It runs, but kernels that are compiled at run time may not; a newer driver is better.")
        return Item("cuda", title, value, "warning", fix)
    return Item("cuda", title, value)
