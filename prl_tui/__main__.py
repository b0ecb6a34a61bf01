"""`python -m prl_tui`: the command line."""

from prl_tui.cli import entry

entry()
