"""Hold rules.py against every row of the fixtures.

python check_rules.py [DIR]
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import rules
from common import Case, read_fixture

TEXTS = {
    "can not be both configured": "both",
    "requires at least 2 generations": "too-few",
    "effective train batch size": "train",
    "global train batch size": "train",
    "global eval batch size": "eval",
    "must be divisible by the global batch size": "generation-batch-not-a-multiple",
    "must equal per_device_train_batch_size": "generation-batch-disagrees",
    "steps_per_generation must be > 0": "steps-per-generation",
    "must be evenly divisible by num_generations (": "train",
    "num_generations must be greater than 1": "too-few",
    "is smaller than total_eval_batch_size": "eval-rows",
    "modulo by zero": "zero-division",
    "maxlen must be non-negative": "negative",
    "batch_size should be a positive integer": "batch-zero",
}

RULES = {"swift46": rules.swift46, "swift35": rules.swift35, "swift33": rules.swift33}


def reason(row: Case) -> str:
    """The short name of the row's error; an error without a text goes by the line that raised it."""
    if row["accepted"]:
        return ""
    if not row["text"]:
        return "sequence-parallel"
    return next((name for part, name in TEXTS.items() if part in row["text"]), row["text"])


def check_numbers(folder: Path) -> int:
    """How many rows the step counts, DeepSpeed's triples and the Trainer's accumulation miss."""
    missed = 0
    for name, rule in {"steps46": rules.steps46, "steps35": rules.steps46, "steps33": rules.steps33}.items():
        if (folder / f"{name}.json.gz").exists():
            _, rows = read_fixture(folder / f"{name}.json.gz")
            keys = ("dataloader", "per_epoch", "total")
            wrong = [r for r in rows if rule(r) != (None if r["exception"] else tuple(r[k] for k in keys))]
            missed += report(name, rows, wrong)
    if (folder / "deepspeed.json.gz").exists():
        _, rows = read_fixture(folder / "deepspeed.json.gz")
        keys = ("train_batch_out", "micro_batch_out", "accumulation_out")
        wrong = [r for r in rows if rules.deepspeed(r)[1] != (tuple(r[k] for k in keys) if r["accepted"] else None)]
        missed += report("deepspeed", rows, wrong)
    for path in sorted(folder.glob("trainer*.json.gz")):
        _, rows = read_fixture(path)
        wrong = [r for r in rows if rules.trainer(r) != (r["per_epoch"], r["total"])]
        missed += report(path.name.split(".")[0], rows, wrong)
    return missed


def report(name: str, rows: list[Case], wrong: list[Case]) -> int:
    """Print a line, and what was missed."""
    print(f"{name}: {len(rows)} rows, {sum(not r['exception'] for r in rows)} answered, {len(wrong)} missed")
    for row in wrong[:20]:
        print("  ", row)
    return len(wrong)


def main() -> int:
    """Print one line per fixture; exit 1 where a rule misses a row."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures/batch_verdicts")
    missed = 0
    for name, rule in RULES.items():
        if not (folder / f"{name}.json.gz").exists():
            continue
        judge, rows = read_fixture(folder / f"{name}.json.gz")
        wrong = []
        for row in rows:
            want = reason(row)
            if rule(row) != want:
                wrong.append((row, rule(row), want))
        accepted = sum(row["accepted"] for row in rows)
        print(
            f"{name} ({judge['program']} {judge['version']}): {len(rows)} rows, {accepted} accepted, {len(wrong)} missed"
        )
        for row, got, want in wrong[:20]:
            print(
                "  ", {k: v for k, v in row.items() if k not in ("accepted", "exception")}, "rule:", got, "judge:", want
            )
        print("  ", Counter(reason(row) for row in rows))
        missed += len(wrong)
    missed += check_numbers(folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
