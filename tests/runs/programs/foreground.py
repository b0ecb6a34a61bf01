"""A foreground launch: `foreground.py ROOT ANSWER COMMAND…`; shows the run's output, ends with its code.

ANSWER: `stop`, `detach`, `go-on`, what a person would say to Ctrl-C.
"""

import sys
from pathlib import Path

from prl_tui.runs import launcher
from prl_tui.runs.stop import Grace

root, answer, command = Path(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:])


def show(data):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def ask(folder):
    print("asked", file=sys.stderr, flush=True)
    return answer


folder, code = launcher.run_foreground(
    root,
    launcher.Job(command),
    grace=Grace(10, 10),
    on_start=lambda folder: print(folder.path, file=sys.stderr, flush=True),
    on_output=show,
    on_interrupt=ask,
)
sys.exit(99 if code is None else code)
