"""The command line. A command names its function as `module:function`, imported when it runs."""

from __future__ import annotations

import argparse

from prl_tui import __version__
from prl_tui.i18n import t

SETTINGS, RUNNING, MACHINE = "prl_tui.cli.settings", "prl_tui.cli.running", "prl_tui.cli.machine"


def build() -> argparse.ArgumentParser:
    """The parser of every sub-command; without one, the app starts."""
    parser = argparse.ArgumentParser(
        prog="prl-tui",
        description=t("Set up, check, export, launch and watch multi-GPU training runs. Without a command, the app."),
    )
    parser.add_argument("--version", action="version", version=f"prl-tui {__version__}")
    parser.add_argument("--lang", metavar="en|zh", help=t("the language; else PRL_TUI_LANG, else the locale"))
    parser.set_defaults(runs="prl_tui.cli.app:app")
    commands = parser.add_subparsers(prog="prl-tui", title=t("commands"), metavar="COMMAND")
    _settings(commands)
    _running(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, runs: str, text: str, as_json: bool = True
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(runs=runs)
    parser.add_argument("--lang", metavar="en|zh", help=argparse.SUPPRESS, default=argparse.SUPPRESS)
    if as_json:
        parser.add_argument("--json", action="store_true", help=t("print JSON"))
    return parser


def _settings(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    recipes = _command(commands, "recipes", f"{SETTINGS}:recipes", t("list the training programs that are known"))
    recipes.add_argument("--trust", choices=["yes", "no"], help=t("allow or refuse this directory's own .prl-tui/"))
    presets = _command(
        commands, "presets", f"{SETTINGS}:presets", t("list presets, or show one recipe's with its fields")
    )
    presets.add_argument("name", nargs="?", metavar="RECIPE")
    gpus = _command(commands, "gpus", f"{MACHINE}:gpus", t("show the GPUs of this box"))
    gpus.add_argument("--watch", action="store_true", help=t("go on, once a second"))
    check = _command(
        commands, "check", f"{SETTINGS}:check", t("check a config: batch arithmetic, GPUs, findings with fixes")
    )
    _source(check)
    _facts(check)
    check.add_argument("--strict", action="store_true", help=t("warnings count as errors"))
    export = _command(
        commands, "export", f"{SETTINGS}:export", t("write the script or file that a platform runs"), False
    )
    _source(export)
    _facts(export)
    export.add_argument("--format", required=True, metavar="FORMAT", help="command, bash, toml")
    export.add_argument("-o", "--output", metavar="FILE", help=t("write a file instead of printing"))
    export.add_argument("--allow-errors", action="store_true", help=t("export although the check finds errors"))
    export.add_argument("--overwrite", action="store_true", help=t("replace an existing file without asking"))


def _running(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    launch = _command(commands, "launch", f"{RUNNING}:launch", t("start a run on this box"))
    _source(launch)
    launch.add_argument("--stack", metavar="NAME", help=t("the engine's generation, which decides the batch rule"))
    how = launch.add_mutually_exclusive_group()
    how.add_argument("--detach", action="store_true", help=t("return at once; the run goes on"))
    how.add_argument("--foreground", action="store_true", help=t("stay, and return the run's exit code"))
    how.add_argument("--dry-run", action="store_true", help=t("check and show the command; start nothing"))
    runs = _command(commands, "runs", f"{RUNNING}:runs", t("list the runs of this box"))
    runs.add_argument("-n", type=int, default=0, metavar="N", help=t("only the newest N"))
    watch = _command(commands, "watch", "prl_tui.cli.watching:watch", t("watch a run"), as_json=False)
    watch.add_argument("run", nargs="?", default="last", metavar="RUN", help=t("an id, a unique prefix, or last"))
    watch.add_argument("--plain", action="store_true", help=t("lines instead of a screen; the run's exit code"))
    logs = _command(commands, "logs", "prl_tui.cli.logs:logs", t("print a run's log"), as_json=False)
    logs.add_argument("run", metavar="RUN")
    logs.add_argument("-f", "--follow", action="store_true", help=t("go on until the run ends"))
    logs.add_argument("--rank", type=int, metavar="N", help=t("one rank's own log"))
    logs.add_argument("--grep", metavar="RE", help=t("only lines that match"))
    logs.add_argument("-n", "--lines", type=int, metavar="N", help=t("only the last N lines"))
    stop = _command(commands, "stop", f"{RUNNING}:stop", t("stop a run and everything that it started"))
    stop.add_argument("run", metavar="RUN")
    demo = _command(
        commands,
        "demo",
        "prl_tui.cli.demo:demo",
        t("a real two-rank torchrun run on this box, watched live"),
        as_json=False,
    )
    demo.add_argument("--plain", action="store_true", help=t("lines instead of a screen"))
    demo.add_argument("--set", action="append", metavar="KEY=VALUE", help=t("change a field"))


def _source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help=t("a TOML file, RECIPE/PRESET, RECIPE alone, or a run"))
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help=t("change a field; may be repeated"))
    parser.add_argument("--unset", action="append", metavar="KEY", help=t("unset a field; may be repeated"))
    parser.add_argument("--use-env", action="store_true", help=t("let PRL_* variables of this environment override"))


def _facts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=_count, metavar="N", help=t("rows of the training data, for the steps"))
    parser.add_argument("--gpus", type=_count, metavar="N", help=t("GPUs of the node that the job is bound for"))
    parser.add_argument("--stack", metavar="NAME", help=t("the engine's generation, which decides the batch rule"))
    parser.add_argument("--here", action="store_true", help=t("check for this box: its GPUs, its ports"))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argparse.ArgumentTypeError(t("{text} is not a whole number from 0", text=repr(text)))
    return int(text)
