"""What a supervised start costs beside a bare subprocess, what a supervisor weighs, and what looking at runs costs.

    python tests/bench/bench_launch.py [PAIRS] [--only start|command|weight|list]

Prints medians; nothing is asserted. A pair is one bare `python -c pass` waited for, and one started as a run and
waited for until its exit record is there; then the whole command, `launch custom --foreground --no-probe`, beside
the very command that it starts: until the script's first line, and until the command's end; once as `python`, once as
torchrun, and once beside a torchrun that writes and shows a log for each rank, as a run has it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prl_tui.runs import launcher, records, stop, store
from prl_tui.runs.folder import read_started
from prl_tui.runs.state import status

PASS = (sys.executable, "-c", "pass")
RECORDED = launcher.Job(PASS, recorded=True, gpus={"GPU-0": 0}, port=29500, info={"activation": {"kind": "this"}})
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def seconds(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def median_ms(values):
    return statistics.median(values) * 1000


def interval_ms(values):
    """Between which the median lies, in 95 of 100 such samples (sign test); all of a sample that is too small."""
    ordered, count = sorted(values), len(values)
    chance, outside = 0.0, 0
    for below in range(count // 2):
        chance += math.comb(count, below) / 2**count
        if 2 * chance > 0.05:
            break
        outside = below + 1
    kept = ordered[max(0, outside - 1) : count - max(0, outside - 1)]
    return kept[0] * 1000, kept[-1] * 1000


def finished(folder):
    while not (folder.path / records.EXIT).exists():
        time.sleep(0.001)


def pairs(root, count):
    bare, start, whole, recorded = [], [], [], []
    for _ in range(count):
        bare.append(seconds(lambda: subprocess.run(PASS, stdout=subprocess.DEVNULL)))
        begin = time.perf_counter()
        folder = launcher.start(root, launcher.Job(PASS))
        start.append(time.perf_counter() - begin)
        finished(folder)
        whole.append(time.perf_counter() - begin)
        recorded.append(seconds(lambda: finished(launcher.start(root, RECORDED))))
        time.sleep(1.5)  # what writes down the run is at work for a moment
    print(f"bare subprocess, python -c pass   {median_ms(bare):8.1f} ms")
    print(f"start() until it returns          {median_ms(start):8.1f} ms")
    print(f"start() until the exit record     {median_ms(whole):8.1f} ms")
    difference = [one - other for one, other in zip(whole, bare, strict=True)]
    added = [one - other for one, other in zip(recorded, bare, strict=True)]
    print(f"overhead of that one              {median_ms(added):8.1f} ms")
    ratio = statistics.median(whole) / statistics.median(bare)
    print(f"the same, reserved and recorded   {median_ms(recorded):8.1f} ms")
    print(f"overhead of a pair                {median_ms(difference):8.1f} ms   ratio {ratio:.2f}   ({count} pairs)")


STAMP = "import os, time; open(os.environ['STAMP'], 'w').write(repr(time.clock_gettime(time.CLOCK_MONOTONIC)))"
"""The script: when it began, by the clock that all processes share. No torch: that would take seconds in both."""


def command(home, count):
    """The whole command beside the very command that it starts, in alternating pairs, with no earlier run to learn from."""
    script = home / "stamp.py"
    script.write_text(STAMP)
    around = {**os.environ, "STAMP": str(home / "stamp")}
    around.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode
    logged = {"PET_LOG_DIR": str(home / "ranks"), "PET_REDIRECTS": "3", "PET_TEE": "3", "PYTHONUNBUFFERED": "1"}
    for name, more in (("python", {}), ("torchrun", {}), ("torchrun with its logs", logged)):
        if name != "python" and not importlib.util.find_spec("torch"):
            continue
        told = {"script": script, "launcher": name.split()[0], "training_env": "this"}
        if name != "python":
            told["nproc_per_node"] = 2
        prl = [sys.executable, "-m", "prl_tui", "launch", "custom", "--foreground", "--no-probe"]
        prl += [word for key, value in told.items() for word in ("--set", f"{key}={value}")]
        state = home / name / "first"
        took(prl, {**around, "XDG_STATE_HOME": str(state)}, home)
        bare = json.loads(next(state.glob("prl-tui/runs/*/run.json")).read_text())["argv"]
        seen = {"bare": [], "prl": []}
        for n in range(count):
            for who in ("bare", "prl")[:: 1 if n % 2 else -1]:
                if who == "prl":
                    seen[who].append(took(prl, {**around, "XDG_STATE_HOME": str(home / name / str(n))}, home))
                else:
                    seen[who].append(took(bare, {**around, **more}, home, pause=0.0))
        for place, what in enumerate(("until its first line", "the whole command")):
            own, with_us = ([one[place] for one in seen[who]] for who in ("bare", "prl"))
            added = [late - early for early, late in zip(own, with_us, strict=True)]
            low, high = interval_ms(added)
            print(
                f"{name + ', ' + what:<45} {median_ms(with_us):8.1f} ms   bare {median_ms(own):8.1f} ms   "
                f"added {median_ms(added):7.1f} ms, 95 % {low:.0f} to {high:.0f}   ({count} pairs)"
            )


def took(argv, around, home, pause=2.5):
    """Seconds until the script's stamp and until the command's end. `pause`: what writes down a run is at work after it."""
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    subprocess.run(argv, env=around, cwd=home, capture_output=True, check=True)
    end = time.clock_gettime(time.CLOCK_MONOTONIC)
    time.sleep(pause)
    return float((home / "stamp").read_text()) - begin, end - begin


def weight(root):
    folder = launcher.start(root, launcher.Job(SLEEP))
    supervisor = read_started(folder).supervisor[0]
    finished_start = time.monotonic() + 1.0
    while not (folder.path / records.HEARTBEAT).exists() and time.monotonic() < finished_start:
        time.sleep(0.01)
    print(f"supervisor, resident              {memory(supervisor, 'VmRSS') / 1024:8.1f} MiB")
    print(f"supervisor, of that its own       {memory(supervisor, 'RssAnon') / 1024:8.1f} MiB")
    looks = [seconds(lambda: status(folder)) for _ in range(500)]
    print(f"status() of a live run            {median_ms(looks) * 1000:8.0f} µs")
    looks = [seconds(lambda: stop.progress(folder)) for _ in range(50)]
    print(
        f"progress() of a live run          {median_ms(looks):8.1f} ms   ({len(list(Path('/proc').glob('[0-9]*')))} processes)"
    )
    taken = seconds(lambda: (stop.stop(folder), stop.wait(folder, 30)))
    print(f"stop() until nothing is left      {taken * 1000:8.0f} ms")
    looks = [seconds(lambda: status(folder)) for _ in range(500)]
    print(f"status() of an ended run          {median_ms(looks) * 1000:8.0f} µs")


def memory(pid, key):
    """KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":"))


def listing(root, count):
    kept = {"exit_code": 0, "signal": None, "error": None, "stop": None}
    for number in range(count):
        path = root / f"a{number:05x}"
        path.mkdir(parents=True)
        for name, record in ((records.RUN, {"created": float(number)}), (records.EXIT, kept)):
            (path / name).write_text('{"schema": 1, ' + str(record)[1:].replace("'", '"').replace("None", "null"))
    runs = []
    taken = [seconds(lambda: runs.append(store.list_runs(root))) for _ in range(9)]
    print(f"list_runs() of {count:,} runs         {median_ms(taken):8.1f} ms")
    taken = [seconds(lambda: [status(folder) for folder in runs[0]]) for _ in range(5)]
    print(f"status() of all of them           {median_ms(taken):8.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="?", type=int, default=20)
    parser.add_argument("--only", choices=["start", "command", "weight", "list"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        parts = {
            "start": lambda: pairs(Path(home, "pairs"), options.pairs),
            "command": lambda: command(Path(home), options.pairs),
            "weight": lambda: weight(Path(home, "weight")),
            "list": lambda: listing(Path(home, "many"), 1000),
        }
        for name, part in parts.items():
            if options.only in (None, name):
                part()


if __name__ == "__main__":
    main()
