"""GPUs under WSL: found where Windows puts the library, and what Windows keeps to itself is told as that.

Judged by the NVML stub through the real binding in a fresh process, under a root that looks like WSL.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from prl_tui.machine import gpu_json, wsl
from prl_tui.machine.gpu_feed import Reading
from prl_tui.tui.widgets.gpu_cells import why_absent
from tests.nvml_stub.plugin import LIBRARY
from tests.tui.test_gpu_table import drawn

SWEEP = (
    "import json, sys, pathlib; from prl_tui.machine import gpu_json; from prl_tui.machine.nvml import Nvml; "
    "print(json.dumps(gpu_json.to_json(Nvml(root=pathlib.Path(sys.argv[1])).sweep())))"
)
NOT_SHOWN = ("* deny power", "* deny limit", "* deny reasons", "* count 1")


@pytest.fixture
def windows(tmp_path):
    """The root of a WSL box without a library yet."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "proc/version").write_text("Linux version 5.15.153.1-microsoft-standard-WSL2 (root@1) #1 SMP\n")
    (root / wsl.LIBRARY).parent.mkdir(parents=True)
    return root


def swept(root, environment):
    done = subprocess.run(
        [sys.executable, "-c", SWEEP, root], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return gpu_json.from_json(json.loads(done.stdout))


def off_the_path(nvml_stub):
    """The stub's environment with a loader that does not find the stub."""
    return nvml_stub.without_library()


def test_the_library_is_found_where_windows_puts_it(nvml_stub, windows):
    nvml_stub.set(*NOT_SHOWN)
    assert swept(windows, off_the_path(nvml_stub)).fault.code == "wsl"
    (windows / wsl.LIBRARY).symlink_to(nvml_stub.library_folder / LIBRARY)
    assert swept(windows, off_the_path(nvml_stub)).fault is None
    (windows / "proc/version").write_text("Linux version 6.8.0-generic\n")
    assert swept(windows, off_the_path(nvml_stub)).fault is not None, "elsewhere that folder means nothing"


async def test_what_windows_keeps_to_itself_is_a_dash_with_its_reason(nvml_stub, windows):
    nvml_stub.set(*NOT_SHOWN)
    snapshot = swept(windows, nvml_stub.environment())
    (gpu,) = snapshot.gpus
    assert (gpu.power, gpu.power_limit, gpu.clock_reasons, gpu.processes) == (None,) * 4
    assert {gpu.missing[name] for name in ("power", "power_limit", "clock_reasons", "processes")} == {"wsl"}
    assert gpu.temperature is not None
    picture = " ".join(" ".join(await drawn(160, Reading(snapshot, 0.1, False, 1.0))).split())
    assert " – " in picture
    assert any("WSL does not show it: Windows has it" in line for line in why_absent(gpu))


def test_the_kernel_release_tells_it_too(tmp_path):
    assert not wsl.is_wsl(tmp_path)
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.6.87.2-microsoft-standard-WSL2\n")
    assert wsl.is_wsl(tmp_path)
