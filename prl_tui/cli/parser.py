"""The command line. A command names its function as `module:function`, imported when it runs.

Only the command that is called gets its arguments: argparse looks at the terminal for each one that is added.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from prl_tui import __version__
from prl_tui.i18n import t
from prl_tui.lists import listed

Add = Callable[[argparse.ArgumentParser], None]

SETTINGS, RUNNING = "prl_tui.cli.settings", "prl_tui.cli.running"


class _Formatter(argparse.HelpFormatter):
    """argparse makes one for each argument that is added, and each asks for the terminal's size; only help needs it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=None if HELP & set(sys.argv) else 100)
        self._headings: list[str] = []

    def start_section(self, heading: str | None) -> None:
        """Remember the heading: the language in force has a colon of its own."""
        self._headings += [heading] if heading else []
        super().start_section(heading)

    def format_help(self) -> str:
        """As argparse has it, which puts an ASCII colon behind every heading."""
        text = super().format_help()
        for heading in self._headings:
            text = text.replace(f"\n{heading}:\n", "\n" + t("{title}:", title=heading) + "\n")
        return text

    def _split_lines(self, text: str, width: int) -> list[str]:
        """A list without blanks is broken behind its separators, not within a word."""
        mark = listed(("", ""))
        lines = super()._split_lines(text.replace(mark, f"{mark} "), width) if len(mark) == 1 else []
        return [line.replace(f"{mark} ", mark) for line in lines] or super()._split_lines(text, width)


HELP = {"-h", "--help"}


class _Parser(argparse.ArgumentParser):
    """argparse's errors repeat what was typed: what stands behind a secret's name is not repeated."""

    def error(self, message: str) -> NoReturn:
        from prl_tui.core import secrets

        super().error(secrets.hidden_text(message))


def build(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for these words: every sub-command by name, the called one with its arguments."""
    parser = _Parser(
        prog="prl-tui",
        formatter_class=_Formatter,
        description=t("Set up, check, export, launch and watch multi-GPU training runs. Without a command, the app."),
    )
    parser.add_argument(
        "--version", action="version", version=f"prl-tui {__version__}", help=t("show the version and exit")
    )
    parser.add_argument("--lang", metavar="en|zh", help=t("the language; else PRL_TUI_LANG, else the locale"))
    parser.set_defaults(runs="prl_tui.cli.app:app")
    commands = parser.add_subparsers(prog="prl-tui", title=t("commands"), metavar="COMMAND")
    for name, (runs, text, add) in _commands().items():
        called = name in words
        command = commands.add_parser(name, help=text, description=text, add_help=called, formatter_class=_Formatter)
        command.set_defaults(runs=runs)
        if called:
            command.add_argument("--lang", metavar="en|zh", help=argparse.SUPPRESS, default=argparse.SUPPRESS)
            add(command)
    return parser


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=t("print JSON"))


def _recipes(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("--trust", choices=["yes", "no"], help=t("allow or refuse this directory's own .prl-tui/"))


def _presets(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("name", nargs="?", metavar="RECIPE")


def _gpus(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("--watch", action="store_true", help=t("go on, once a second"))


def _doctor(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("--env", metavar="ENV", help=t("conda:NAME, a venv, a python, or this; else what PATH gives"))


def _check(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    _source(parser)
    _facts(parser)
    parser.add_argument(
        "--probe", action="store_true", help=t("with --here: try the training environment, before any weights load")
    )
    parser.add_argument("--strict", action="store_true", help=t("warnings count as errors"))


def _export(parser: argparse.ArgumentParser) -> None:
    from prl_tui.export.formats import FORMATS  # only the called command pays for it

    _json(parser)
    _source(parser)
    _facts(parser)
    parser.add_argument("--format", metavar="FORMAT", help=listed(FORMATS))
    parser.add_argument("--image", metavar="IMAGE", help=t("the container image, for formats that name one"))
    parser.add_argument("--gpu-type", metavar="NAME", help=t("the platform's name of the GPU, for skypilot and dstack"))
    parser.add_argument(
        "--supervised", action="store_true", help=t("with bash: the platform's own prl-tui runs and records the job")
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=t("write a file instead of printing"))
    parser.add_argument("--allow-errors", action="store_true", help=t("export although the check finds errors"))
    parser.add_argument("--overwrite", action="store_true", help=t("replace an existing file without asking"))


def _launch(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    _source(parser)
    parser.add_argument("--stack", metavar="NAME", help=t("the engine's generation, which decides the batch rule"))
    parser.add_argument(
        "--smoke", type=_count, metavar="N", help=t("N steps that log, evaluate and save: does it work?")
    )
    parser.add_argument(
        "--promote", action="store_true", help=t("SOURCE is a smoke test's run: the same config in full")
    )
    parser.add_argument(
        "--no-probe", action="store_true", help=t("launch without trying the training environment first")
    )
    parser.add_argument(
        "--share-gpus", action="store_true", help=t("use GPUs that another run has reserved or somebody uses")
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--detach", action="store_true", help=t("return at once; the run goes on"))
    how.add_argument("--foreground", action="store_true", help=t("stay, and return the run's exit code"))
    how.add_argument("--dry-run", action="store_true", help=t("check and show the command; start nothing"))
    parser.epilog = t("Without --detach, --foreground, --dry-run or --json the run is watched: on a screen, or as lines where "
                      "stdout is no terminal. Leaving that (q, Ctrl-C) leaves the run going on; `prl-tui watch` finds it "
                      "again, and `prl-tui stop` ends it.")  # fmt: skip


def _runs(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("-n", type=_count, default=0, metavar="N", help=t("only the newest N"))


def _watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", default="last", metavar="RUN|DIR|LOG",
        help=t("an id, a unique prefix, last; an output folder, a log, or a name such as v31: read only"),
    )  # fmt: skip
    parser.add_argument("--plain", action="store_true", help=t("lines instead of a screen; the run's exit code"))
    parser.add_argument(
        "--exit-on", metavar="WHAT", help=t("leave once it is finished, failed or step=N; the run goes on")
    )
    parser.add_argument("--json", action="store_true", help=t("a line of JSON for each event"))
    parser.epilog = t("--plain and --json show of a log that prl-tui did not start what stands in it now, since nobody "
                      "knows its end; with --exit-on they wait for more.")  # fmt: skip


def _logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=t("an id, a unique prefix, or last"))
    parser.add_argument("-f", "--follow", action="store_true", help=t("go on until the run ends"))
    parser.add_argument("--rank", type=_count, metavar="N", help=t("one rank's own log"))
    parser.add_argument(
        "--grep", metavar="RE",
        help=t("only lines that match; A is not a, unless RE begins with (?i). Of a line over 128 KiB its first and "
               "last 64 KiB are looked at, here and by --without and --level"),
    )  # fmt: skip
    parser.add_argument("--without", metavar="RE", help=t("no lines that match"))
    parser.add_argument(
        "--level", choices=["error", "warning", "info"], help=t("only lines of this level and of more severe ones")
    )
    parser.add_argument("-n", "--lines", type=_count, metavar="N", help=t("only the last N of these lines"))
    parser.add_argument("--completions", action="store_true", help=t("what the model answered, with its rewards"))
    parser.add_argument("--gpus", action="store_true", help=t("what its GPUs and its host did, recorded while it ran"))
    parser.add_argument("--json", action="store_true", help=t("print JSON, with --completions and --gpus"))


def _one_run(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("run", metavar="RUN", help=t("an id, a unique prefix, or last"))


def _sweep(parser: argparse.ArgumentParser) -> None:
    _json(parser)
    parser.add_argument("--yes", action="store_true", help=t("do it without asking"))


def _rm(parser: argparse.ArgumentParser) -> None:
    _sweep(parser)
    parser.add_argument("run", metavar="RUN", help=t("an id, a unique prefix, or last"))


def _compare(parser: argparse.ArgumentParser) -> None:
    _one_run(parser)
    parser.add_argument(
        "other",
        nargs="?",
        metavar="RUN",
        help=t("the later run; without it, RUN is compared with the last run of its recipe before it"),
    )


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help=t("lines instead of a screen"))
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help=t("change a field; may be repeated"))


def _source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help=t("a TOML file, RECIPE/PRESET, RECIPE alone, or a run"))
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help=t("change a field; may be repeated"))
    parser.add_argument("--unset", action="append", metavar="KEY", help=t("unset a field; may be repeated"))
    parser.add_argument(
        "--use-env",
        action="store_true",
        help=t("let variables of this environment override: PRL_*, or a bare name such as WANDB_MODE"),
    )


def _facts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=_count, metavar="N", help=t("rows of the training data, for the steps"))
    parser.add_argument("--gpus", type=_count, metavar="N", help=t("GPUs of the node that the job is bound for"))
    parser.add_argument("--stack", metavar="NAME", help=t("the engine's generation, which decides the batch rule"))
    parser.add_argument("--here", action="store_true", help=t("check for this box: its GPUs, its ports"))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argparse.ArgumentTypeError(
            t("{text} is not a whole number from 0 to {most}", text=repr(text), most="9" * 15)
        )
    return int(text)


def _commands() -> dict[str, tuple[str, str, Add]]:
    """Name → the function that runs it, its sentence, its arguments."""
    return {
        "recipes": (f"{SETTINGS}:recipes", t("list the training programs that are known"), _recipes),
        "presets": (f"{SETTINGS}:presets", t("list presets, or show one recipe's with its fields"), _presets),
        "gpus": ("prl_tui.cli.machine:gpus", t("show the GPUs of this box"), _gpus),
        "doctor": (
            "prl_tui.cli.doctor:doctor",
            t("this box and an environment: what is wrong, how to mend it"),
            _doctor,
        ),
        "check": (f"{SETTINGS}:check", t("check a config: batch arithmetic, GPUs, findings with fixes"), _check),
        "export": (f"{SETTINGS}:export", t("write the script or file that a platform runs"), _export),
        "launch": ("prl_tui.cli.launching:launch", t("start a run on this box"), _launch),
        "runs": (f"{RUNNING}:runs", t("list the runs of this box"), _runs),
        "watch": ("prl_tui.cli.watching:watch", t("watch a run"), _watch),
        "logs": ("prl_tui.cli.logs:logs", t("print a run's log"), _logs),
        "stop": (f"{RUNNING}:stop", t("stop a run and everything that it started"), _one_run),
        "stacks": ("prl_tui.cli.stacks:show", t("where each rank of a run stands now, by py-spy"), _one_run),
        "rm": ("prl_tui.cli.tidying:remove", t("delete an ended run's folder"), _rm),
        "sweep": ("prl_tui.cli.tidying:clean", t("find and end processes that outlived their run"), _sweep),
        "compare": ("prl_tui.cli.comparing:compare", t("what differs between two runs"), _compare),
        "demo": ("prl_tui.cli.demo:demo", t("a real two-rank torchrun run on this box, watched live"), _demo),
    }
