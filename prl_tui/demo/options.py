"""What the demo can be told: its flags, with the names that training programs in the field use."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prl_tui.demo.faults import FaultSwitches
from prl_tui.demo.flags import add_flags, flag, one_of, picked, real, truth, whole
from prl_tui.i18n import mark, t

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADS = 4
"""Attention heads of the model: hidden_size must be a multiple."""


@dataclass(frozen=True, slots=True)
class Options:
    """One run of the demo; each field is the flag of its name."""

    max_steps: int = flag(200, whole(1), mark("optimizer steps to train"))
    global_batch_size: int = flag(
        16,
        whole(1),
        mark(
            "samples per optimizer step over all ranks; must be a multiple of"
            " per_device_train_batch_size x ranks, the quotient is the accumulation"
        ),
    )
    per_device_train_batch_size: int = flag(4, whole(1), mark("samples that one rank computes at a time"))
    learning_rate: float = flag(3e-3, real, mark("peak learning rate; cosine decay to 0"), "RATE")
    warmup_steps: int = flag(10, whole(0), mark("steps of linear warm-up of the learning rate"))
    block_size: int = flag(64, whole(2), mark("characters in a sample"))
    hidden_size: int = flag(96, whole(HEADS), mark("width of the model; a multiple of 4"))
    num_layers: int = flag(2, whole(1), mark("transformer blocks"))
    seed: int = flag(42, whole(0), mark("seed of weights, dropout and data order"))
    logging_steps: int = flag(
        1,
        whole(1),
        mark("log every N steps; the first and the last step are logged too"),
    )
    save_steps: int = flag(
        50,
        whole(1),
        mark("save a checkpoint every N steps; the last step is saved too"),
    )
    save_total_limit: int | None = flag(None, whole(1), mark("keep the newest N checkpoints, and the best"))
    eval_steps: int = flag(0, whole(0), mark("evaluate every N steps; 0 means never"), "N")
    output_dir: str = flag("output", str, mark("folder of the run, or of its versions"), "DIR")
    add_version: bool = flag(
        True,
        truth,
        mark("write to <output_dir>/vN-DATE-TIME, as ms-swift does"),
        "true|false",
    )
    resume_from_checkpoint: str = flag(
        "",
        str,
        mark("go on from this checkpoint-N folder: weights, optimizer, RNG and data position"),
        "DIR",
    )
    step_delay: float = flag(0.0, real, mark("seconds to wait in each step, so that one can watch"), "SECONDS")
    device: str = flag(
        "auto",
        one_of("auto", "cpu", "cuda"),
        mark("auto takes the GPUs if this node has one per rank, else the CPU"),
        "auto|cpu|cuda",
    )
    num_threads: int = flag(1, whole(1), mark("CPU threads of torch in each rank"))
    faults: FaultSwitches = field(default_factory=FaultSwitches)
    """Failures to play on purpose."""


def make_parser() -> argparse.ArgumentParser:
    """The command line, described without torch."""
    parser = argparse.ArgumentParser(
        prog="python -m prl_tui.demo.train",
        allow_abbrev=False,
        description=t(
            "Train a small character-level transformer on a text that ships with prl-tui."
            " Start it with torchrun for several ranks, or with python for one."
        ),
        epilog=t(
            "SIGTERM and SIGINT end it at once, as other torchrun jobs: no checkpoint is written then."
            " Go on from the last one with --resume_from_checkpoint."
        ),
    )
    add_flags(parser, Options)
    add_flags(parser.add_argument_group(t("failures to play on purpose")), FaultSwitches)
    return parser


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """The options of a command line; argparse's exit 2 with one sentence if it is wrong."""
    parser = make_parser()
    namespace = parser.parse_args(arguments)
    if namespace.hidden_size % HEADS:
        parser.error(t("hidden_size ({n}) must be a multiple of {heads}", n=namespace.hidden_size, heads=HEADS))
    return picked(Options, namespace, faults=picked(FaultSwitches, namespace))
