"""Write down every flag that the installed ms-swift's own argument classes take.

    python swift_flags.py --out DIR

`swift rlhf` parses its command line into the dataclass RLHFArguments, `swift sft` into SftArguments (3.x:
TrainArguments); a flag that is no field of theirs stops the run with `remaining_argv`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path


def main() -> None:
    """One JSON file, named by the version's first two numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/flags"))
    out = parser.parse_args().out
    import swift

    try:
        from swift.arguments import RLHFArguments, SftArguments
    except ImportError:  # 3.x
        from swift.llm import RLHFArguments
        from swift.llm import TrainArguments as SftArguments
    flags = {
        name: sorted(field.name for field in dataclasses.fields(kind) if field.init)
        for name, kind in (("rlhf", RLHFArguments), ("sft", SftArguments))
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"swift{''.join(swift.__version__.split('.')[:2])}.json"
    path.write_text(json.dumps({"judge": {"program": "ms-swift", "version": swift.__version__}, **flags}) + "\n")


if __name__ == "__main__":
    main()
