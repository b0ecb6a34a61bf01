"""prl-tui: set up, check, export, launch and watch multi-GPU training runs in a terminal."""

__version__ = "0.1.0"
