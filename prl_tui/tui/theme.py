"""One neutral base, one accent; red and yellow only for findings."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="prl",
    primary="#5f87af",
    secondary="#838c98",
    accent="#7fb4ca",
    foreground="#d0d4d9",
    background="#16181c",
    surface="#1b1e23",
    panel="#23272e",
    success="#8fb573",
    warning="#d7a65f",
    error="#e06c75",
    dark=True,
)
