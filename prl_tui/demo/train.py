"""The demo's entry: `torchrun --nproc_per_node=2 -m prl_tui.demo.train …`, or `python -m` for a single process.

What can be judged without torch is judged before torch is imported, on every rank: a wrong batch fails in
well under a second.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.demo.checkpoint import read_state
from prl_tui.demo.console import PREFIX
from prl_tui.demo.faults import Faults
from prl_tui.demo.options import read_options
from prl_tui.demo.ranks import accumulation, place_in
from prl_tui.i18n import choose_language, set_language, t

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_TORCH = 2
"""Exit code where PyTorch is missing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says; the process's exit code. Errors of a run are raised, as training programs do."""
    set_language(choose_language(None, os.environ))
    options = read_options(arguments)
    if importlib.util.find_spec("torch") is None:
        print(t("The demo trains with PyTorch, and this Python has none: pip install torch"), file=sys.stderr)
        return NO_TORCH
    place = place_in(os.environ)
    micro_batches = accumulation(options.global_batch_size, options.per_device_train_batch_size, place.world_size)
    faults = Faults(options.faults, place.rank)
    faults.check(place.world_size)
    resumed = read_state(Path(options.resume_from_checkpoint)) if options.resume_from_checkpoint else None
    if resumed and resumed["global_step"] >= options.max_steps:
        raise ValueError(
            f"resume_from_checkpoint is at step {resumed['global_step']}:"
            f" max_steps ({options.max_steps}) leaves nothing to train"
        )

    # On every rank, and before the seconds that torch takes to import.
    print(f"{PREFIX} {place}", flush=True)
    faults.at_start()
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")  # nothing here needs it
    from prl_tui.demo.trainer import train

    train(options, place, micro_batches, faults, resumed)
    faults.at_end()
    gc.freeze()  # else the interpreter's last collections walk all of torch: more than a second of CPU per rank
    return 0


if __name__ == "__main__":
    sys.exit(main())
