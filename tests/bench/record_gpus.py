"""A real ms-swift GRPO run on real GPUs, launched and watched by prl-tui, beside what nvidia-smi says.

    python -m tests.bench.record_gpus OUT [--steps 120] [--gpus 2]

Needs that many NVIDIA GPUs and an interpreter with ms-swift 4.x, transformers, textual and (for its figures) nvitop. Writes
to OUT: `gpus.jsonl` (`prl-tui gpus --watch --json`), `smi.csv` (nvidia-smi, four times a second), `events.jsonl`
(`prl-tui watch --json`), screens as SVG and text; prints whether each memory and power of ours is one of nvidia-smi's
in the surrounding second, and what the watch screen costs beside nvitop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from prl_tui.machine import paths
from prl_tui.runs import store
from prl_tui.tui.app import PrlApp
from tests.bench.bench_gpus import drain, ticks

PRL = [sys.executable, "-m", "prl_tui"]
SMI = "index,memory.used,power.draw.instant,power.draw,utilization.gpu,temperature.gpu"
VALUES = {
    "model_type": "qwen2", "template": "qwen2_5", "use_hf": "true", "check_model": "false", "torch_dtype": "bfloat16",
    "split_dataset_ratio": "0", "use_vllm": "false", "num_generations": "4", "per_device_train_batch_size": "16",
    "gradient_accumulation_steps": "1", "max_length": "256", "max_completion_length": "64", "logging_steps": "1",
    "save_steps": "50", "dataset_num_proc": "1", "dataloader_num_workers": "0", "reward_funcs": "tiny_length",
    "report_to": "tensorboard", "training_env": "this",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--gpus", type=int, default=2)
    options = parser.parse_args()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    tiny = out.parent / "tiny"
    subprocess.run([sys.executable, Path(__file__).parents[1] / "judges" / "tiny.py", tiny], check=True)
    with ExitStack() as stack:
        smi = ["nvidia-smi", f"--query-gpu={SMI}", "--format=csv,noheader,nounits", "-lms", "250"]
        stack.enter_context(stamped(smi, out / "smi.csv"))
        stack.enter_context(written([*PRL, "gpus", "--watch", "--json"], out / "gpus.jsonl"))
        run = launch(tiny, options.steps, options.gpus)
        stack.enter_context(written([*PRL, "watch", run, "--json"], out / "events.jsonl"))
        cost = threading.Thread(target=costs, args=(run,))
        cost.start()
        asyncio.run(screens(run, out))
        cost.join()
        code = subprocess.run([*PRL, "watch", run, "--plain"], stdout=-3, check=False).returncode
        print("exit code of the run:", code)
    subprocess.run([*PRL, "logs", run, "--gpus"], check=False)
    compare(out)


def launch(tiny: Path, steps: int, gpus: int) -> str:
    values = VALUES | {"model": tiny / "tiny", "dataset": tiny / "data" / "grpo.jsonl", "max_steps": steps}
    values |= {"external_plugins": tiny / "plugin.py", "output_dir": tiny / "out"}
    values |= {"nproc_per_node": gpus, "cuda_visible_devices": ",".join(map(str, range(gpus)))}
    words = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    words += ["--unset", "vllm_mode"]
    told = subprocess.run(
        [*PRL, "launch", "swift-grpo/colocate-2gpu", "--detach", "--json", *words], stdout=-1, check=True
    )
    return str(json.loads(told.stdout)["id"])


@contextmanager
def written(command: list[str], path: Path):
    with path.open("wb") as file, subprocess.Popen(command, stdout=file) as child:
        try:
            yield
        finally:
            child.terminate()


@contextmanager
def stamped(command: list[str], path: Path):
    """As `written`, each line with the moment at which it came."""
    with path.open("w") as file, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:

        def copy() -> None:
            for line in child.stdout:
                file.write(f"{time.time():.3f}, {line}")

        thread = threading.Thread(target=copy)
        thread.start()
        try:
            yield
        finally:
            child.terminate()
            thread.join()


async def screens(run: str, out: Path) -> None:
    """The watch screen at three sizes, every ten seconds until the run ends."""
    folder = store.find(paths.runs_dir(), run)
    number = 0
    while not (folder.path / "exit.json").exists() and number < 40:
        for width, height in ((80, 24), (160, 45)):
            app = PrlApp(watch=folder)
            async with app.run_test(size=(width, height)) as pilot:
                await asyncio.sleep(3.5)
                await pilot.pause()
                (out / f"screen-{number:02}-{width}x{height}.svg").write_text(app.export_screenshot())
        await asyncio.sleep(3)
        number += 1


def costs(run: str) -> None:
    """Processor and memory of the watch screen with its sampler, and of nvitop, each over 20 s of the run."""
    time.sleep(50)
    for title, command in (("prl-tui watch", [*PRL, "watch", run]), ("nvitop", [sys.executable, "-m", "nvitop"])):
        pid, terminal = os.forkpty()
        if pid == 0:
            os.environ.update(TERM="xterm-256color", COLUMNS="160", LINES="50")
            os.execvp(command[0], command)
        try:
            drain(terminal, 4)
            family = [pid, *(one.pid for one in psutil.Process(pid).children(recursive=True))]
            begun, used = time.monotonic(), sum(map(ticks, family))
            drain(terminal, 20)
            spent, span = sum(map(ticks, family)) - used, time.monotonic() - begun
            pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family)
            resident = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
            print(
                f"{title}: {100 * spent / os.sysconf('SC_CLK_TCK') / span:.2f} % of a core, {resident:.1f} MiB, {len(family)} processes"
            )
        except OSError as error:
            print(f"{title}: {error}")
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def compare(out: Path) -> None:
    """Each of our values beside nvidia-smi's of the surrounding second."""
    theirs: dict[int, list[tuple[float, float, float, float]]] = {}
    for line in (out / "smi.csv").read_text().splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 7:
            theirs.setdefault(int(cells[1]), []).append((float(cells[0]), *map(float, cells[2:5])))
    count = {"memory": [0, 0], "memory where nvidia-smi's did not move": [0, 0], "power": [0, 0]}
    worst = 0.0
    for line in (out / "gpus.jsonl").read_text().splitlines():
        value = json.loads(line)
        for gpu in value["gpus"]:
            near = [row for row in theirs.get(gpu["index"], []) if abs(row[0] - value["time"]) <= 1.0]
            if len(near) < 4:
                continue
            memory = gpu["memory_used"] / (1 << 20)
            low, high = min(row[1] for row in near), max(row[1] for row in near)
            tally(count["memory"], low - 1 <= memory <= high + 1)
            if low == high:
                worst = max(worst, abs(memory - low))
                tally(count["memory where nvidia-smi's did not move"], abs(memory - low) < 1)
            powers = [row[2] for row in near] + [row[3] for row in near]
            tally(count["power"], min(powers) <= gpu["power"] <= max(powers))
    for name, (good, all_) in count.items():
        print(f"{name}: {good} of {all_} inside nvidia-smi's of the surrounding second")
    print(f"greatest difference of a still memory: {worst:.3f} MiB")


def tally(pair: list[int], good: bool) -> None:
    pair[0] += good
    pair[1] += 1


if __name__ == "__main__":
    main()
