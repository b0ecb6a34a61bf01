"""A headless command never pays for a screen: what a fresh interpreter has imported after each of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("textual", "rich", "psutil", "torch", "numpy", "pynvml")


def imported(program: str) -> set[str]:
    """The heavy packages that a program in a fresh interpreter has imported at its end."""
    told = f"import sys\n{program}\nprint('IMPORTED', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("IMPORTED")[2].split())


@pytest.mark.parametrize(
    "words",
    [["check", "prl-grpo/standard-4gpu", "--json"], ["export", "prl-grpo", "--format", "bash"], ["export", "demo", "--format", "toml"],
     ["recipes"], ["presets", "prl-grpo"], ["runs"], ["check", "nothing"]],
    ids=" ".join,
)  # fmt: skip
def test_a_headless_command_imports_nothing_heavy(words: list[str]) -> None:
    found = imported(f"from prl_tui.cli import main\nmain({words!r})")
    assert found - ({"psutil"} if words == ["runs"] else set()) == set()


def test_the_supervisor_imports_no_screen() -> None:
    assert imported("import prl_tui.runs.supervisor") & {"textual", "rich", "torch"} == set()


def test_the_core_and_the_exports_import_nothing_heavy() -> None:
    assert imported("import prl_tui.core.checks, prl_tui.core.config_file, prl_tui.export.formats") == set()


def test_a_launch_asks_the_driver_before_all_else_and_reads_no_log_before_its_program_runs() -> None:
    """What reads logs is imported while the program starts; the driver answers while the rest is imported."""
    seen = (
        "import sys\n"
        "from prl_tui.cli import main\n"
        "from prl_tui.machine import sampler_child\n"
        "made, real = [], sampler_child.SamplerChild\n"
        "def make(words):\n"
        "    made.append('prl_tui.cli.running' in sys.modules)\n"
        "    return real(words)\n"
        "sampler_child.SamplerChild = make\n"
        "code = main(['launch', 'demo', '--dry-run'])\n"
        "assert (code, made) == (0, [False]), (code, made)\n"
        "late = [name for name in ('prl_tui.runs.overview', 'prl_tui.telemetry.run_view') if name in sys.modules]\n"
        "assert not late, late\n"
    )
    assert imported(seen) == set()
