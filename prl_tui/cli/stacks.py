"""stacks: where each rank of a run stands now."""

from __future__ import annotations

import argparse

from prl_tui.cli import running
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import print_json
from prl_tui.i18n import visible
from prl_tui.runs import stacks


def show(args: argparse.Namespace) -> int:
    """`prl-tui stacks RUN`: 4 where they cannot be read."""
    folder = running.find(args.run)
    try:
        found = stacks.read(folder)
    except stacks.StacksError as error:
        raise CommandError(str(error), Exit.IMPOSSIBLE) from None
    if args.json:
        print_json(stacks.as_data(found))
    else:
        print("\n".join(visible(line) for line in stacks.lines(found)))
    return Exit.OK if any(one.text for one in found.found) else Exit.IMPOSSIBLE
