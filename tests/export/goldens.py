"""The golden files of the platforms' formats, and how they are made.

    python tests/export/goldens.py                  # writes tests/fixtures/exports
    python tests/export/goldens.py --whole DIR      # the same files with their scripts, for tests/judges/platforms.py

A golden has all of a file but the script that `bash` exports, the hashes and the version: those have tests of their own.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tests.built_in import RECIPES

sys.path.insert(0, str(Path(__file__).parents[2]))

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS

HERE = Path(__file__).parents[1] / "fixtures" / "exports"
NAMES = ("dlc", "trainjob", "pytorchjob", "skypilot", "dstack")
ODD = [
    "it's",
    'a "b"',
    "two\nlines",
    "中文 🚀",
    "$(RANK) $$ $$(x) ${{ secrets.x }}",
    "\u2028\x85\x1b[2J",
    "",
    "--x",
    "# no: - {comment}",
]
TOLD = {"image": "registry.local/prl:1", "gpu_type": "H100"}


def plans() -> dict[str, tuple[RunConfig, dict[str, str]]]:
    """Name → config, and what the options say of the platform."""
    recipes = RECIPES
    demo, grpo, rl, custom = (recipes[name] for name in ("demo", "prl-grpo", "minionerec-rl", "custom"))
    two: dict[str, object] = {
        "nnodes": 2, "cuda_visible_devices": "2,5", "environment": ["WANDB_API_KEY", "HF_TOKEN", "NOTE=x"],
    }  # fmt: skip
    return {
        "demo": (resolve(demo, demo.data.default_preset or ""), {}),
        "prl-grpo": (resolve(grpo, "standard-4gpu"), TOLD),
        "two-nodes": (resolve(custom, "torchrun").with_values(two, Source.SET), TOLD),
        "files": (resolve(rl, rl.data.default_preset or ""), {"image": TOLD["image"]}),
        "odd": (resolve(custom, "accelerate").with_values({"arguments": ODD, "nnodes": 3}, Source.SET), {}),
    }


def texts() -> dict[str, str]:
    """File name → text, whole."""
    found = {}
    for name, (config, told) in plans().items():
        for one in NAMES:
            known = {key: value for key, value in told.items() if key in FORMATS[one].asks}
            found[name + FORMATS[one].suffix] = FORMATS[one](plan.build(config), **known).text
    return found


def shape(text: str) -> str:
    """A file without its script, its hashes and the version."""
    text = re.sub(r"^# file sha256: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=^# config sha256: )[0-9a-f]{64}$", "0" * 64, text, flags=re.MULTILINE)
    text = re.sub(r"(?<=prl-tui )[0-9][\w.+-]*(?=\.$)", "VERSION", text, flags=re.MULTILINE)
    text = re.sub(
        r"^exec bash -c '.*' prl-node$", "exec bash -c 'exit 0' prl-node", text, flags=re.MULTILINE | re.DOTALL
    )
    return re.sub(
        r'^( *)((?:- |run: ))(?:\|-?\n(?:(?:\1  .*)?\n)+|".{2000,}"\n)', r'\1\2"exit 0"\n', text, flags=re.MULTILINE
    )


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", type=Path)
    folder = parser.parse_args().whole
    for name, text in texts().items():
        path = (folder or HERE) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((text if folder else shape(text)).encode())


if __name__ == "__main__":
    main()
