"""What `?` says on each screen."""

from __future__ import annotations

import re

from prl_tui.i18n import cells, pad, t


def configure_help(field: str = "") -> str:
    """Help of the configure screen; `field`: what stands before it, of the setting under the cursor."""
    head = f"{field}\n\n" if field else ""
    return head + _in_columns(
        [
            t("Configure: choose a preset, change fields, read the verdict, launch it."),
            "",
            t("↑ ↓  move between settings        tab  the next pane"),
            t("digits  type a number at once     enter  open a field, or the next choice"),
            t("enter  keep what was typed        esc  what was there before"),
            t("space ← →  another choice         x  the preset's value     u U  undo, redo"),
            t("a  show every setting             /  find a setting, or a preset"),
            t("f  apply the first way out        l  launch on this box"),
            t("t  try the training environment   L  launch without trying it"),
            t("T  smoke test: two steps that log, evaluate and save"),
            t("e  export: all formats            s  save as a preset of your own"),
            t("p  presets; letters find one      r  next recipe"),
            t("v [ ]  preview, in its formats    d  the whole verdict"),
            t("R w  runs, and the last of them   q  quit; runs go on"),
            "",
            t("Where yours differs: ← and the preset's value, then who changed it."),
            t("The verdict is for any platform; its first line speaks of this box too."),
        ]
    )


def export_help() -> str:
    """Help of the export screen."""
    return _in_columns(
        [
            t("Export: what each format would write, and what it cannot carry."),
            "",
            t("↑ ↓  another format               tab  the next pane"),
            t("↑ ↓ pgup pgdn  scroll the text    ← →  the rest of long lines"),
            t("enter s  write it to a file       y  copy it to the terminal's clipboard"),
            t(":  every action by name           q e esc  back to the form"),
        ]
    )


def watch_help() -> str:
    """Help of the watch screen."""
    return _in_columns(
        [
            t("Watch: is it alive, is it learning, when is it done, what is wrong?"),
            "",
            t("1 2 3  GPUs, curves, logs         z  zoom the pane, or all again"),
            t("2  again: the next curve          b  after 1: all GPUs of the box"),
            t("+ -  a taller, a flatter pane     < >  narrower, wider GPUs   =  as it was"),
            t("[ ]  the log before or after      { }  the group of ranks before or after"),
            t("logs: all ranks (in order of arrival), each rank, launcher (its own)"),
            t("r3 !  has an error line     r3 ?  stopped writing, others go on"),
            t("r3, rank 3 and torchrun's [default3] are one and the same rank."),
            t("↑ ↓ pgup pgdn  scroll             end  follow the end again"),
            t("← →  the rest of long lines       w  wrap long lines, or cut them again"),
            t("/  find in the log                n N  next, previous match, or error"),
            t("e E  next, previous error         a A  next, previous warning"),
            t("f F  only, or no lines with …     l  by level; esc: all lines again"),
            t("/ f F: lower case finds both cases, capitals are exact; re:… is a regex."),
            t("y Y  copy lines in sight, or one    s  save what is shown to a file"),
            t("o v  open in $PAGER, in $EDITOR   m  what changed since the last run"),
            t("d  the cause, or an error         x  stop the run and all it started"),
            t("S  where each rank stands         P  after a passed smoke test: in full"),
            t("q esc  leave; the run goes on     R  runs     c  configure"),
        ]
    )


def runs_help() -> str:
    """Help of the list of runs."""
    return _in_columns(
        [
            t("Runs: newest first."),
            "",
            t("enter  watch        x  stop        D  delete an ended run"),
            t("/  only runs with a text            esc  all of them again"),
            t("m  what changed since the recipe's last run"),
            t("W  end processes that outlived their run"),
            t("o  its settings in the form        c  configure      q  quit"),
        ]
    )


_GAPS = (re.compile(r" {4,}(?=\S)"), re.compile(r" {3}(?=\S)"))
"""What stands between two columns in a sentence of keys: four blanks, or three where it is a long one."""


def _in_columns(lines: list[str]) -> str:
    """The lines with their second and third columns below each other, whatever a translation's width."""
    rows = [next((parts for gap in _GAPS if len(parts := gap.split(line)) > 1), [line]) for line in lines]
    listed = [row for row in rows if len(row) > 1]
    widths = [
        max((cells(row[column]) for row in listed if column < len(row) - 1), default=0) + 3
        for column in range(max(map(len, rows)))
    ]
    return "\n".join("".join(map(pad, row[:-1], widths)) + row[-1] for row in rows)
