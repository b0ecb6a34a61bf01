"""The training itself: the loop over optimizer steps, and when it logs, evaluates and saves."""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from prl_tui import __version__, atomic
from prl_tui.demo.checkpoint import checkpoint_path, checkpoints_in, forget_old, write_checkpoint
from prl_tui.demo.comm import Comm
from prl_tui.demo.console import Console
from prl_tui.demo.corpus import CORPUS
from prl_tui.demo.data import Order, positions, read_corpus
from prl_tui.demo.folder import make_run_folder
from prl_tui.demo.journal import Journal, speed_metrics
from prl_tui.demo.model import CharTransformer, parameter_count, parameter_text
from prl_tui.demo.state import Learner, random_state, restore_random_state, save_random_states
from prl_tui.demo.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prl_tui.demo.data import Rows
    from prl_tui.demo.faults import Faults
    from prl_tui.demo.options import Options
    from prl_tui.demo.ranks import Place


def train(options: Options, place: Place, micro_batches: int, faults: Faults, resumed: dict[str, Any] | None) -> None:
    """Train on this rank from start to end; `resumed` is the trainer's state of the checkpoint to go on from."""
    console = Console(place.rank)
    torch.set_num_threads(options.num_threads)
    comm = Comm(place, options.device)
    made = make_run_folder(options.output_dir, options.add_version, datetime.now()) if place.first else ""
    folder = Path(comm.from_first(str(made)))
    console.info(f"output_dir: {folder}")
    trainer = Trainer(options, comm, console, folder, micro_batches)
    if resumed:
        trainer.resume(resumed)
    trainer.announce()
    trainer.run(faults)
    console.info(f"End time of running main: {datetime.now()}")
    comm.close()


class Trainer:
    """One rank's training; every rank runs the same steps at the same time."""

    def __init__(self, options: Options, comm: Comm, console: Console, folder: Path, micro_batches: int) -> None:
        self.options = options
        self.comm = comm
        self.console = console
        self.folder = folder
        self.micro_batches = micro_batches
        self.step = 0
        self.samples_seen = 0
        self.best_metric: float | None = None
        self.best_checkpoint: Path | None = None
        self.corpus = read_corpus(CORPUS.read_text(encoding="utf-8"), options.block_size)
        self.order = Order(len(self.corpus.train), options.seed)
        torch.manual_seed(options.seed)
        model = CharTransformer(
            len(self.corpus.characters), options.block_size, options.hidden_size, options.num_layers
        ).to(comm.device)
        self.learner = Learner(model, options.learning_rate, options.warmup_steps, options.max_steps)
        self.parallel = DistributedDataParallel(model) if comm.shared else model
        torch.manual_seed(options.seed + comm.place.rank)  # every rank drops other units
        self.parameters = parameter_count(model)
        self.tally = Tally()
        self.journal = Journal(folder / "logging.jsonl", options.max_steps)

    # --- before the first step

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from the checkpoint whose trainer state this is."""
        checkpoint = Path(self.options.resume_from_checkpoint)
        place, device = self.comm.place, self.comm.device
        self.learner.restore(checkpoint, device)
        self.step = self.journal.first_step = int(state["global_step"])
        self.samples_seen = int(state["samples_seen"])
        self.journal.history = list(state["log_history"])
        self.best_metric = state.get("best_metric")
        best = state.get("best_model_checkpoint")
        self.best_checkpoint = Path(best) if best else None
        if not restore_random_state(checkpoint, place.rank, place.world_size, device):
            torch.manual_seed(self.options.seed + place.rank + self.step)
            self.console.info("The checkpoint has no random state for these ranks: a new one begins.")
        self.console.info(f"Resuming training from {checkpoint.resolve()} after step {self.step}")

    def announce(self) -> None:
        """Print the milestones up to the first step, in ms-swift's order, and write args.json."""
        info, options = self.console.info, self.options
        arguments = self._arguments()
        lines = "".join(f"{key}={value},\n" for key, value in sorted(arguments.items()))
        info(f"args: TrainArguments(\n{lines})")
        info(f"Global seed set to {options.seed}")
        info(f"backend: {self.comm.backend}, device: {self.comm.device}")
        info(f"Start time of running main: {datetime.now()}")
        info(f"prl_tui.__version__: {__version__}")
        info(f"train_dataset: {_dataset_text(self.corpus.train)}")
        if options.eval_steps:
            info(f"val_dataset: {_dataset_text(self.corpus.evaluation)}")
        if self.comm.place.first:
            atomic.write_json(self.folder / "args.json", arguments)
        info(f"The TrainArguments will be saved in: {self.folder / 'args.json'}")
        info(f"model_parameter_info: {parameter_text(self.learner.model)}")
        info(f"The logging file will be saved in: {self.journal.path}")

    def _arguments(self) -> dict[str, object]:
        values = asdict(self.options)
        values.update(values.pop("faults"))
        place = self.comm.place
        return {
            **values,
            "output_dir": str(self.folder),
            "gradient_accumulation_steps": self.micro_batches,
            "rank": place.rank,
            "global_world_size": place.world_size,
            "local_world_size": place.local_world_size,
            "prl_tui_version": __version__,
        }

    # --- the loop

    def run(self, faults: Faults) -> None:
        """Train to max_steps. The summary is written also when training raises, as ms-swift does."""
        options = self.options
        self.journal.start = began = time.monotonic()
        first = self.step
        bar = self.console.open_bar("Train", options.max_steps, initial=first)
        try:
            while self.step < options.max_steps:
                faults.at_step(self.step + 1)
                self._train_step()
                time.sleep(options.step_delay)  # asked for, so that a run can be looked at
                bar.advance()
                self._after_step(first + 1)
            self._log_end(time.monotonic() - began, self.step - first)
        finally:
            self.console.close_bar()
            self._summarize()

    def _train_step(self) -> None:
        model = self.parallel
        for micro in range(self.micro_batches):
            last = micro == self.micro_batches - 1
            with contextlib.nullcontext() if last or not self.comm.shared else model.no_sync():
                loss, correct = model(self._batch(micro))
                (loss / self.micro_batches).backward()
            self.tally.add(float(loss.item()), int(correct.item()), self._batch_tokens)
        self.tally.close_step(self.learner.update())
        self.step += 1
        self.samples_seen += self.options.global_batch_size

    def _after_step(self, first: int) -> None:
        """What is due after a step: log, evaluate, save, in this order."""
        options, step = self.options, self.step
        at_end = step == options.max_steps
        if step == first or at_end or step % options.logging_steps == 0:
            self._log_step()
        if options.eval_steps and (at_end or step % options.eval_steps == 0):
            self._evaluate()
        if at_end or step % options.save_steps == 0:
            self._save()

    # --- data

    @property
    def _batch_tokens(self) -> int:
        return self.options.per_device_train_batch_size * self.options.block_size

    @property
    def _epoch(self) -> float:
        return self.samples_seen / len(self.corpus.train)

    def _batch(self, micro: int) -> torch.Tensor:
        place = self.comm.place
        wanted = positions(
            self.samples_seen,
            micro,
            self.options.per_device_train_batch_size,
            place.rank,
            place.world_size,
        )
        return self._rows(self.corpus.train, [self.order.row_at(position) for position in wanted])

    def _rows(self, rows: Rows, indices: Sequence[int]) -> torch.Tensor:
        return torch.tensor([rows.row(index) for index in indices], device=self.comm.device)

    # --- logging

    def _log_step(self) -> None:
        options, place = self.options, self.comm.place
        period = self.tally.take(self.comm)
        if not place.first:
            samples = period.steps * self.micro_batches * options.per_device_train_batch_size
            self.console.say(
                f"rank {place.rank} step {self.step}/{options.max_steps} loss {period.own_loss:.4g}"
                f" {samples / period.seconds:.1f} samples/s"
            )
            return
        self._write(
            {
                "loss": period.loss,
                "grad_norm": period.grad_norm,
                "learning_rate": self.learner.learning_rate,
                "token_acc": period.accuracy,
            }
        )

    def _log_end(self, seconds: float, steps: int) -> None:
        if self.comm.place.first:
            samples = steps * self.options.global_batch_size
            tokens = self.samples_seen * self.options.block_size
            values = speed_metrics("train", seconds, samples, steps)
            values["total_flos"] = float(6 * self.parameters * tokens)
            values["train_loss"] = self.tally.mean_loss
            self._write(values)

    def _write(self, values: dict[str, object]) -> None:
        line = self.journal.write(self.step, self._epoch, values, self._memory())
        self.console.metrics(line)

    def _memory(self) -> float:
        """The GPU memory that torch took at most, GiB; 0 on the CPU."""
        if self.comm.device.type != "cuda":
            return 0.0
        return float(torch.cuda.max_memory_reserved(self.comm.device)) / 2**30

    # --- evaluation

    def _evaluate(self) -> None:
        """Loss and accuracy on the held-out rows, shared out over the ranks."""
        options, place, rows = self.options, self.comm.place, self.corpus.evaluation
        size = options.per_device_train_batch_size
        mine = range(place.rank, len(rows), place.world_size)
        batches = [mine[start : start + size] for start in range(0, len(mine), size)]
        bar = self.console.open_bar("Val", max(1, len(batches)))
        began, model = time.monotonic(), self.learner.model
        loss_sum, correct_sum = 0.0, 0
        model.eval()
        with torch.no_grad():
            for batch in batches:
                loss, correct = model(self._rows(rows, batch))
                loss_sum += float(loss.item()) * len(batch)
                correct_sum += int(correct.item())
                bar.advance()
        model.train()
        total_loss, total_correct = self.comm.sums([loss_sum, correct_sum])
        self.console.close_bar()
        loss_now = total_loss / len(rows)
        values: dict[str, object] = {"eval_loss": loss_now}
        values.update(speed_metrics("eval", time.monotonic() - began, len(rows), len(batches)))
        values["eval_token_acc"] = total_correct / (len(rows) * options.block_size)
        if self.best_metric is None or loss_now < self.best_metric:
            self.best_metric, self.best_checkpoint = loss_now, checkpoint_path(self.folder, self.step)
        if place.first:
            self._write(values)

    # --- checkpoints

    def _save(self) -> None:
        """Write a whole checkpoint on rank 0; nobody goes on before it is there."""
        states = self.comm.gathered(random_state(self.comm.device))
        if self.comm.place.first:
            target = checkpoint_path(self.folder, self.step)
            self.console.info(f"Saving model checkpoint to {target}")

            def fill(folder: Path) -> None:
                self.learner.save(folder)
                save_random_states(folder, states)
                atomic.write_json(folder / "args.json", self._arguments())

            write_checkpoint(self.folder, self.step, self._state(), fill)
            forget_old(self.folder, self.options.save_total_limit, self.best_checkpoint)
        self.comm.wait_for_all()

    def _state(self) -> dict[str, object]:
        options, best = self.options, self.best_checkpoint
        return {
            "global_step": self.step,
            "max_steps": options.max_steps,
            "epoch": self._epoch,
            "samples_seen": self.samples_seen,
            "best_metric": self.best_metric,
            "best_model_checkpoint": str(best) if best else None,
            "logging_steps": options.logging_steps,
            "save_steps": options.save_steps,
            "eval_steps": options.eval_steps,
            "train_batch_size": options.per_device_train_batch_size,
            "log_history": self.journal.history,
        }

    def _summarize(self) -> None:
        """Say and log what came of the run; this alone does not mean success."""
        if not self.comm.place.first:
            return
        present = checkpoints_in(self.folder)
        last = present[-1] if present else None
        best = self.best_checkpoint if self.best_checkpoint and self.best_checkpoint.is_dir() else None
        self.console.info(f"last_model_checkpoint: {last}")
        self.console.info(f"best_model_checkpoint: {best}")
        summary: dict[str, object] = {"train_dataset": self.corpus.train.length_text()}
        if self.options.eval_steps:
            summary["val_dataset"] = self.corpus.evaluation.length_text()
        self.journal.summarize(
            {
                **summary,
                "model_parameter_info": parameter_text(self.learner.model),
                "last_model_checkpoint": str(last) if last else None,
                "best_model_checkpoint": str(best) if best else None,
                "best_metric": self.best_metric,
                "global_step": self.step,
                "log_history": self.journal.history,
                "memory": round(self._memory(), 2) or 0,
            }
        )


def _dataset_text(rows: Rows) -> str:
    """The shape in which ms-swift prints a dataset."""
    return f"Dataset({{\n    features: ['tokens'],\n    num_rows: {len(rows)}\n}})"
