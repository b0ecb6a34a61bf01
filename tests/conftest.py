"""What every test gets: a home of its own, English, and the command line in process or as the installed script."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from prl_tui import i18n
from prl_tui.cli import main
from prl_tui.core.catalog import BUILT_IN

pytest_plugins = ["tests.nvml_stub.plugin"]

settings.register_profile(
    "prl-tui",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("prl-tui")

FOREIGN = ("PRL_", "XDG_", "NO_COLOR", "LANG", "LC_", "CUDA_VISIBLE_DEVICES", "WANDB_", "DATASET", "NUMBER_OF_", "ADVERSARIAL",
           "REASONING", "OMP_NUM_THREADS", "PET_", "MASTER_", "NPROC_PER_NODE", "NNODES", "NODE_RANK")  # fmt: skip
"""Variables of the developer's shell that no test may depend on."""


if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # started by a shell with `&`; every child would ignore Ctrl-C too
    signal.signal(signal.SIGINT, signal.default_int_handler)

_homes = itertools.count()


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    home = tmp_path_factory.getbasetemp() / f"home{next(_homes)}"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name, folder in (("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")):
        monkeypatch.setenv(name, str(home / folder))
    monkeypatch.setenv("LANG", "C.UTF-8")
    i18n.set_language("en")
    yield
    i18n.set_language("en")


UNREADABLE = "the built-in recipes cannot be read"


@dataclass(frozen=True)
class Result:
    """What a command gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """`cli("check", "demo")`: the command line in this process."""

    def run(*words: str) -> Result:
        capsys.readouterr()
        try:
            code = main(list(words))
        except SystemExit as exit_:  # argparse ends so
            code = int(exit_.code or 0)
        finally:
            i18n.set_language("en")
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def installed_script() -> list[str]:
    """The `prl-tui` script of this environment."""
    script = Path(sysconfig.get_path("scripts")) / "prl-tui"
    if not script.exists():
        pytest.skip("prl-tui is not installed in this environment")
    return [sys.executable, str(script)]


@pytest.fixture
def script() -> Callable[..., Result]:
    """`script("check", "demo")`: the installed `prl-tui` in a process of its own."""
    command = installed_script()

    def run(*words: str | bytes, **options: object) -> Result:
        done = subprocess.run([*command, *words], capture_output=True, timeout=60, **options)  # type: ignore[call-overload]
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture
def powerless() -> Callable[..., Result]:
    """`powerless("check", "demo")`: the installed script without root's power to read what its owner may not."""
    drop = "-dac_override,-dac_read_search"
    command = ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}"] if os.getuid() == 0 else []
    if command and not shutil.which(command[0]):
        pytest.skip("root without setpriv reads everything")

    def run(*words: str) -> Result:
        done = subprocess.run([*command, *installed_script(), *words], capture_output=True, timeout=60)
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture
def config_dir() -> Path:
    """Where this test's person keeps settings and recipes."""
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "prl-tui"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """An empty folder that everybody may read, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def as_nobody() -> Callable[[Callable[[], object]], str]:
    """Run a function in a fork without root's power to read everything; what it printed, on either stream."""

    def run(function: Callable[[], object]) -> str:
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
                    os.environ.pop(name, None)
                os.environ["HOME"] = "/nonexistent"
                if os.getuid() == 0:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                if not os.access(BUILT_IN, os.R_OK | os.X_OK):
                    print(UNREADABLE, flush=True)
                    os._exit(0)
                try:
                    function()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(0)
            os.waitpid(child, 0)
            output.seek(0)
            said = output.read().decode()
            if said.startswith(UNREADABLE):
                pytest.skip("only root can read this checkout")
            return said

    return run
