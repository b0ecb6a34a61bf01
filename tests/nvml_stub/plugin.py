"""Fixtures around the NVML stub: build it once, change its state while a program runs.

`nvml_stub` is a box with eight idle H100s for child processes that get `nvml_stub.environment()`; `nvml_stub.set`
changes it, also under a running child. Load it with `pytest_plugins = ["tests.nvml_stub.plugin"]` in the topmost
conftest, or with `-p tests.nvml_stub.plugin`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("nvml_stub.c")
LIBRARY = "libnvidia-ml.so.1"


class NvmlStub:
    """A box whose NVIDIA driver is the stub."""

    def __init__(self, library_folder: Path, folder: Path) -> None:
        self.library_folder = library_folder
        self.folder = folder
        self.state = folder / "nvml_state"
        self.set()

    def set(self, *lines: str) -> None:
        """Replace the state: lines `GPU KEY VALUE` as nvml_stub.c lists them; none means eight idle GPUs."""
        beside = self.state.with_suffix(".new")
        beside.write_text("".join(f"{line}\n" for line in lines))
        beside.replace(self.state)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of a process that shall see this box."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.library_folder),
            "FAKE_NVML_STATE": str(self.state),
            **more,
        }

    def without_library(self) -> dict[str, str]:
        """The environment of a box where the library cannot be loaded, even if the real one is installed."""
        broken = self.folder / "no_library"
        broken.mkdir(exist_ok=True)
        (broken / LIBRARY).write_bytes(b"")  # the loader stops at the first file of that name
        return self.environment(LD_LIBRARY_PATH=str(broken))

    def calls(self) -> list[str]:
        """The functions that were called since `set("* trace 1")`, in order."""
        trace = self.state.with_name(f"{self.state.name}.calls")
        return trace.read_text().split() if trace.exists() else []


@pytest.fixture(scope="session")
def nvml_stub_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built library; skips where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("the NVML stub needs a C compiler (gcc or cc)")
    folder = tmp_path_factory.mktemp("nvml_stub")
    build(compiler, folder)
    return folder


@pytest.fixture
def nvml_stub(nvml_stub_library: Path, tmp_path: Path) -> NvmlStub:
    """A box with eight idle H100s."""
    return NvmlStub(nvml_stub_library, tmp_path)


def build(compiler: str, folder: Path) -> Path:
    """Compile the stub into `folder`."""
    target = folder / LIBRARY
    soname = f"-Wl,-soname,{LIBRARY}"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", soname, "-o", target, SOURCE]
    subprocess.run(command, check=True, timeout=60)
    return target
