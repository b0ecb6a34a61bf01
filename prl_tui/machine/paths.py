"""The only place that knows directories: the person's (XDG) and the project's.

Nothing is created here: whoever writes makes the folder first. The environment comes in as a mapping, so that
tests and a served app never read the developer's home by accident.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "prl-tui"
PROJECT_FOLDER = ".prl-tui"


def home(environment: Mapping[str, str] | None = None) -> Path:
    """The person's home; a private folder below the temporary one where there is none (some containers)."""
    values = os.environ if environment is None else environment
    if values.get("HOME", "").startswith("/"):
        return Path(values["HOME"])
    try:
        import pwd  # only where HOME is missing

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        import tempfile

        return Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"


def here() -> Path:
    """The working directory; where it was removed, what the system still calls it: a folder that is not there."""
    try:
        return Path.cwd()
    except OSError:
        try:
            return Path("/proc/self/cwd").readlink()  # the kernel adds " (deleted)": no other folder is taken for it
        except OSError:
            return Path("/", f"{os.environ.get('PWD', '')} (deleted)")


def expanded(text: str) -> Path:
    """A path whose leading `~/` is the person's home, as in an exported script; another person's `~name` stays as it is."""
    return home() / text[2:] if text == "~" or text.startswith("~/") else Path(text)


def config_dir(environment: Mapping[str, str] | None = None) -> Path:
    """Settings and the person's own recipes and presets."""
    return _xdg("XDG_CONFIG_HOME", ".config", environment)


def state_dir(environment: Mapping[str, str] | None = None) -> Path:
    """What outlives a session: runs, history, last choices."""
    return _xdg("XDG_STATE_HOME", ".local/state", environment)


def cache_dir(environment: Mapping[str, str] | None = None) -> Path:
    """What may be deleted at any time: probes of training environments, counted data sets."""
    return _xdg("XDG_CACHE_HOME", ".cache", environment)


def runs_dir(environment: Mapping[str, str] | None = None) -> Path:
    """Where run folders lie."""
    return state_dir(environment) / "runs"


def own_recipe_dirs(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Where the person's own recipes and presets lie."""
    config = config_dir(environment)
    return [config / "recipes", config / "presets"]


def project_dir(working_directory: Path) -> Path:
    """The folder in a working directory that holds its own recipes and presets."""
    return working_directory / PROJECT_FOLDER


def _xdg(variable: str, below_home: str, environment: Mapping[str, str] | None) -> Path:
    values = os.environ if environment is None else environment
    chosen = values.get(variable, "")
    # The XDG rules: a path that is not absolute is ignored.
    base = Path(chosen) if chosen.startswith("/") else home(environment) / below_home
    return base / NAME


def exists(path: str | Path) -> bool:
    """Whether something is there; a name that no file can have (too long, a NUL) is not there, and no error."""
    return os.path.exists(path)  # noqa: PTH110  (Path.exists raises for such a name before Python 3.14)


def is_file(path: str | Path) -> bool:
    """The same for a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_dir(path: str | Path) -> bool:
    """The same for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def which(program: str, path: str | None = None) -> str | None:
    """The file that a program's name means on a search path, PATH where none is given: `shutil.which`, whose module takes
    milliseconds of each launch.
    """
    places = os.environ.get("PATH", os.defpath) if path is None else path
    if os.path.dirname(program):  # noqa: PTH120  (hot: names, not paths)
        found = [program]
    else:
        found = [os.path.join(folder, program) for folder in places.split(os.pathsep)] if places else []  # noqa: PTH118
    return next((one for one in found if os.access(one, os.F_OK | os.X_OK) and not is_dir(one)), None)
