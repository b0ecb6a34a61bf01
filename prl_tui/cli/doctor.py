"""doctor: this box and a training environment, with what is wrong and how to mend it."""

from __future__ import annotations

import argparse
import json

from prl_tui.cli.exits import Exit
from prl_tui.machine import doctor_report
from prl_tui.machine.doctor_item import Item


def doctor(args: argparse.Namespace) -> int:
    """`prl-tui doctor [--env ENV]`: exit 1 where something is an error."""
    items = doctor_report.look(args.env or "")
    wrong = doctor_report.errors(items)
    if args.json:
        data = {"ok": not wrong, "items": [_data(item) for item in items]}
        print(json.dumps(data, ensure_ascii=False, indent=1))
    else:
        print("\n".join(doctor_report.lines(items)))
    return Exit.FINDINGS if wrong else Exit.OK


def _data(item: Item) -> dict[str, str]:
    return {"code": item.code, "title": item.title, "value": item.value, "state": item.state, "fix": item.fix}
