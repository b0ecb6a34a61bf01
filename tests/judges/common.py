"""What every judge shares: one worker process per world size, and the fixture writer.

A worker is rank 0 of a world that has no other ranks: torchrun's environment variables plus torch's own
`fake` process group, whose collectives do nothing. The trainers read their world size from it, as they do
under torchrun.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Case = dict[str, Any]
Verdict = dict[str, Any]
PACKAGES = {"trl": "trl", "transformers": "transformers", "torch": "torch", "accelerate": "accelerate"}


def versions() -> dict[str, str]:
    """Versions of the programs that judge, as installed in this environment."""
    found = {"python": platform.python_version()}
    for key, package in PACKAGES.items():
        try:
            found[key] = version(package)
        except PackageNotFoundError:
            found[key] = "-"
    return found


def torchrun_env(world: int) -> dict[str, str]:
    """The environment that torchrun gives rank 0 of `world` ranks on one node; nothing when world is 1."""
    env = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}
    if world > 1:
        env |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29999"}
    return env


def join_fake_world(world: int) -> None:
    """Become rank 0 of `world` ranks, without the others."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if world > 1:
        dist.init_process_group("fake", rank=0, world_size=world, store=FakeStore())


def failure(stage: str, error: BaseException) -> Verdict:
    """A refusal: where it came from, its type and the first line of its text."""
    lines = str(error).strip().splitlines()
    return {
        "accepted": False,
        "stage": stage,
        "exception": type(error).__name__,
        "text": lines[0] if lines else "",
    }


def judge_in_workers(script: str, cases: list[Case], work: Path, extra: list[str] | None = None) -> list[Verdict]:
    """Verdicts of all cases, in their order; one worker process per world size, one after the other."""
    groups: dict[int, list[tuple[int, Case]]] = defaultdict(list)
    for index, case in enumerate(cases):
        groups[case["world"]].append((index, case))
    verdicts: list[Verdict] = [{} for _ in cases]
    for world, members in sorted(groups.items()):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = Path(folder, "asked.json"), Path(folder, "answered.json")
            asked.write_text(json.dumps([case for _, case in members]))
            command = [sys.executable, script, "--worker", str(world), str(asked), str(answered)]
            command += ["--work", str(work), *(extra or [])]
            log = work / f"worker-{Path(script).stem}-{world}.log"
            with log.open("w") as sink:
                env = {**os.environ, **torchrun_env(world), "HF_HOME": str(work / "hf")}
                subprocess.run(command, check=True, stdout=sink, stderr=sink, env=env, cwd=work)
            for (index, _), verdict in zip(members, json.loads(answered.read_text()), strict=True):
                verdicts[index] = verdict
        print(f"world {world}: {len(members)} cases in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return verdicts


def serve(world: int, asked: str, answered: str, judge: Callable[[Case], Verdict]) -> None:
    """The worker's side: judge what was asked, in this world."""
    verdicts = [judge(case) for case in json.loads(Path(asked).read_text())]
    Path(answered).write_text(json.dumps(verdicts))


def write_fixture(out: Path, judge: dict[str, str], columns: list[str], rows: list[list[Any]]) -> None:
    """One gzipped JSON file, the same bytes for the same verdicts."""
    head = json.dumps({"judge": judge, "columns": columns}, ensure_ascii=False, indent=1)[:-2]
    body = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
        packed.write(f'{head},\n "rows": [\n{body}\n]}}\n'.encode())
    accepted = columns.index("accepted") if "accepted" in columns else None
    yes = sum(row[accepted] is True for row in rows) if accepted is not None else len(rows)
    print(f"{out.name}: {len(rows)} rows, {yes} accepted, {out.stat().st_size} bytes", file=sys.stderr)


def read_fixture(path: Path) -> tuple[dict[str, str], list[Case]]:
    """The judge and its rows, each a dict by column name."""
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        content = json.load(handle)
    return content["judge"], [dict(zip(content["columns"], row, strict=True)) for row in content["rows"]]
