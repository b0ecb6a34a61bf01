"""One full check, every rule and the search for fixes: `python -m tests.bench.bench_check`.

Random settings of each recipe, valid and broken ones, and the same with one or two values beside them that are no
numbers or out of bounds; process time of `checks.check` and, as a floor, of `check` on the untouched preset. The
target is p95 ≤ 5 ms.
"""

from __future__ import annotations

import random
import time

from prl_tui.core import catalog, checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts

CASES = 400
FIELDS = {
    "prl-grpo": ("num_generations", "per_device_train_batch_size", "nproc_per_node", "per_device_eval_batch_size"),
    "swift-grpo": (
        "num_generations",
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "steps_per_generation",
        "nproc_per_node",
    ),
    "minionerec-sft": ("batch_size", "micro_batch_size", "nproc_per_node"),
    "demo": ("global_batch_size", "per_device_train_batch_size", "nproc_per_node"),
}


BAD = ("0", "-3", "2abc", "100000000", "08")


def configs(recipe: str, presets: list[str], seed: int, bad: int = 0) -> list[RunConfig]:
    """Random changes to the recipe's presets: one to three fields, as a person types them, up to `bad` of them wrong."""
    source = random.Random(seed)
    loaded = catalog.load().recipes[recipe]
    found = []
    for _ in range(CASES):
        fields = source.sample(FIELDS[recipe], source.randint(1, 3 if len(FIELDS[recipe]) > 3 else 2))
        values = {field: str(source.randint(1, 16)) for field in fields}
        if bad:
            wrong = source.sample((*FIELDS[recipe], "learning_rate", "nnodes"), source.randint(1, bad))
            values |= {field: source.choice(BAD) for field in wrong}
        found.append(resolve(loaded, source.choice(presets)).with_values(values, Source.FORM))
    return found


def spent(config: RunConfig) -> float:
    """Milliseconds of process time for one check."""
    begin = time.process_time()
    checks.check(config, Facts(node_gpus=8, rows=8462))
    return (time.process_time() - begin) * 1e3


def main() -> None:
    """Print a table."""
    print(f"{'recipe':<22}{'broken':>8}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}{'preset ms':>11}")
    loaded = catalog.load().recipes
    whole: list[float] = []
    for recipe in FIELDS:
        presets = list(loaded[recipe].presets)
        floor = min(spent(resolve(loaded[recipe], presets[0])) for _ in range(50))
        for bad in (0, 2):
            every = configs(recipe, presets, 7, bad)
            times = sorted(spent(config) for config in every)
            whole += times
            broken = sum(not checks.check(config, Facts(node_gpus=8)).ok for config in every)
            row = (times[CASES // 2], times[int(CASES * 0.95)], times[-1], floor)
            name = f"{recipe} + bad" if bad else recipe
            print(f"{name:<22}{broken:>8}{row[0]:>9.2f}{row[1]:>9.2f}{row[2]:>9.2f}{row[3]:>11.3f}")

    whole.sort()
    count = len(whole)
    print(f"{'all of them':<31}{whole[count // 2]:>8.2f}{whole[int(count * 0.95)]:>9.2f}{whole[-1]:>9.2f}")


if __name__ == "__main__":
    main()
