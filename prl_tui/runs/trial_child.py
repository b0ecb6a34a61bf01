"""Tries a training program in its own environment, before anything is loaded. Runs there: only the standard library.

    python trial_child.py ORDER.json RESULT.jsonl

The order says what will run: `argv`, `world`, `local_world`, `swift` (ms-swift's sub-command, or ""), `flags` (what its
parser will read), `module` or `script`, `own_module` or `own_script` (a person's own, which is read and never
imported), `gpus` (GPUs are wanted), `scratch` (a folder for what parsers create). Each step appends a line when it
begins and another with what it found, so that a hang or a crash shows where it was. stdout and stderr belong to the
engines, which print what they like.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import json
import os
import re
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

TEXT = 2000


class Report:
    """Lines of the result file."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115  (open until the process ends)

    def say(self, **values: object) -> None:
        """One line, on disk at once."""
        self._file.write(json.dumps(values, ensure_ascii=True) + "\n")
        self._file.flush()


def main(order_path: str, result_path: str) -> None:
    """Every step in turn; one that fails leaves the later ones their turn, but nothing is parsed without an import."""
    order = json.loads(Path(order_path).read_text("utf-8"))
    report = Report(result_path)
    ours = Path(__file__).resolve().parent
    sys.path[:] = [
        folder for folder in sys.path if Path(folder).resolve() != ours
    ]  # no module of the program's is here
    sys.path.insert(0, str(Path(order["script"]).resolve().parent) if order["script"] else str(Path.cwd()))
    steps: list[tuple[str, Callable[[dict[str, Any]], dict[str, object]]]] = [("versions", match_versions)]
    if order.get("own_module") or order.get("own_script"):
        steps.append(("source", read_source))
    steps.append(("import", import_swift if order["swift"] else import_program))
    if order["swift"]:
        steps.append(("arguments", parse_swift))
    if order["gpus"]:
        steps.append(("gpus", look_at_gpus))
    imported = True
    for name, step in steps:
        if name == "arguments" and not imported:
            continue
        report.say(step=name, begins=time.time())
        try:
            report.say(step=name, ok=True, **step(order))
        except BaseException as error:
            report.say(step=name, ok=False, kind=type(error).__name__, text=_words(error), at=_place(error))
            imported = imported and name != "import"
    report.say(step="", ok=True)
    sys.stdout.flush()
    os._exit(0)  # engines leave threads behind that take seconds to end


def _words(error: BaseException) -> str:
    """The error's text; argparse's exit says its reason on stderr only."""
    return (str(error) or type(error).__name__)[:TEXT]


def _place(error: BaseException) -> str:
    """File and line of the innermost frame."""
    found, last = error.__traceback__, ""
    while found is not None:
        last = f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}"
        found = found.tb_next
    return last


# --- versions that do not fit together, read from the sources: nothing is imported --------------------------------------


def match_versions(order: dict[str, Any]) -> dict[str, object]:
    """Mismatches that stop a run minutes after its start. Sources: the packages' own files at the versions named."""
    swift, trl, vllm, transformers = (_folder(name) for name in ("swift", "trl", "vllm", "transformers"))
    found: list[str] = []
    if not order["swift"] or swift is None:
        return {"mismatches": found}
    ours = _read(swift, "rlhf_trainers/grpo_trainer.py") or _read(swift, "trainers/rlhf_trainer/grpo_trainer.py")
    theirs = _read(trl, "trainer/grpo_trainer.py")
    # transformers 4.52 and later: seed_worker(worker_id, num_workers, rank); ms-swift 3.3 and TRL 0.17 pass it bare.
    seed = re.search(r"^def seed_worker\(([^)]*)\)", _read(transformers, "trainer_utils.py"), re.MULTILINE)
    bare = re.compile(r"""worker_init_fn["']\]\s*=\s*seed_worker\b""")
    bound = re.compile(r"partial\(\s*seed_worker")
    if seed and "," in seed[1] and bare.search(ours) and not bound.search(ours):
        found.append("seed-worker")
    # vLLM 0.10 and later: EngineArgs has no `device`; ms-swift 3.3 to 3.5 pass one.
    engine = _read(swift, "llm/infer/infer_engine/vllm_engine.py") or _read(swift, "infer_engine/vllm_engine.py")
    arguments = _read(vllm, "engine/arg_utils.py")
    if arguments and "device=device" in engine and not re.search(r"^    device\s*:", arguments, re.MULTILINE):
        found.append("vllm-device")
    reward = _read(swift, "trainers/rlhf_trainer/reward_trainer.py") or _read(swift, "rlhf_trainers/reward_trainer.py")
    table = "from trl.trainer.utils import print_rich_table"
    if table in reward and "except" not in reward.partition(table)[2][:80]:
        utils = _read(trl, "trainer/utils.py") + _read(trl, "trainer/utils/__init__.py")
        if utils and "def print_rich_table" not in utils:
            found.append("print-rich-table")
    # TRL 0.17 and later reads self.shuffle_dataset, which the trainer of ms-swift 3.3 never sets.
    if "=self.shuffle_dataset" in theirs and ours and "shuffle_dataset" not in ours:
        found.append("shuffle-dataset")
    return {"mismatches": found}


def _folder(package: str) -> Path | None:
    """Where a package lies, without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


def _read(folder: Path | None, file: str) -> str:
    try:
        return (folder / file).read_text("utf-8", "replace") if folder is not None else ""
    except OSError:
        return ""


# --- imports ------------------------------------------------------------------------------------------------------------


def import_swift(order: dict[str, Any]) -> dict[str, object]:
    """What `swift rlhf` and `swift sft` import before they parse: the pipeline with its trainers."""
    _pipeline(order["swift"])
    flags = order["flags"]
    kind = flags[flags.index("--rlhf_type") + 1] if "--rlhf_type" in flags[:-1] else ""
    _trainers(kind)
    return {"file": getattr(sys.modules.get("swift"), "__file__", "") or ""}


def _pipeline(command: str) -> Any:
    """ms-swift's own class for a sub-command: 4.x in swift.pipelines, 3.x in swift.llm.train."""
    import swift  # noqa: F401  (its own errors first)

    modules = ["swift.pipelines.train", "swift.llm.train"]
    names = {"rlhf": ["SwiftRLHF"], "sft": ["SwiftSft"], "pt": ["SwiftPretrain", "SwiftPt"]}[command]
    for module in modules:
        if importlib.util.find_spec(module.rpartition(".")[0]) is None:
            continue
        loaded = importlib.import_module(module)
        for name in names:
            if hasattr(loaded, name):
                return getattr(loaded, name)
    raise ImportError(f"ms-swift has no {' or '.join(names)}")


def _trainers(kind: str) -> None:
    """The trainer of one kind, where ms-swift loads it only later."""
    name = {"grpo": "GRPOTrainer", "dpo": "DPOTrainer", "rm": "RewardTrainer"}.get(kind, "")
    for module in ("swift.rlhf_trainers", "swift.trainers.rlhf_trainer"):
        if name and importlib.util.find_spec(module) is not None:
            getattr(importlib.import_module(module), name)
            return


def import_program(order: dict[str, Any]) -> dict[str, object]:
    """The modules that a script names at its top, one by one. The script itself is not run: it may have no guard."""
    path = _source(order)
    if path is None or not os.path.isfile(path):  # noqa: PTH113  (a pipe would be waited for)
        return {"file": ""}
    tree = ast.parse(path.read_text("utf-8"), str(path))
    package = order["module"].rpartition(".")[0]
    for node in tree.body:
        for module, names in _imports(node, package):
            loaded = importlib.import_module(module)
            for name in names:
                if not hasattr(loaded, name):
                    try:
                        importlib.import_module(f"{module}.{name}")
                    except ModuleNotFoundError:
                        raise ImportError(f"cannot import name {name!r} from {module!r}") from None
    return {"file": str(path)}


def _source(order: dict[str, Any]) -> Path | None:
    if order["script"]:
        return Path(order["script"])
    if not order["module"]:
        return None
    spec = importlib.util.find_spec(order["module"])
    if spec is None:
        raise ModuleNotFoundError(f"No module named {order['module']!r}")
    if spec.submodule_search_locations:
        spec = importlib.util.find_spec(f"{order['module']}.__main__")
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _imports(node: ast.stmt, package: str) -> Iterator[tuple[str, list[str]]]:
    """`import a.b` and `from a import b` at the top level; what stands in a try is optional."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, []
    elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
        base = node.module or ""
        if node.level:
            parts = package.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
        yield base, [alias.name for alias in node.names if alias.name != "*"]


# --- a person's own program: read, never imported and never run ------------------------------------------------------------


def read_source(order: dict[str, Any]) -> dict[str, object]:
    """Whether it is there and is Python that this interpreter can read: {} or what is wrong and where."""
    name = order["own_module"]
    path = Path(order["own_script"]) if not name else _module_file(name)
    if path is None:
        return {"missing": name}
    if path == Path():
        return {}
    if os.path.isdir(path):  # noqa: PTH112  (Path.is_dir raises where a folder above is not ours to look into)
        path = path / "__main__.py"  # a folder is started by that file
    if not os.path.isfile(path):  # noqa: PTH113
        return {"missing": str(path)}
    if not order.get("python", True) or path.suffix in {".pyc", ".so", ".zip"}:
        return {}
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        text = (error.text or "").strip()[:200]
        return {"file": str(path), "line": error.lineno or 0, "reason": error.msg, "text": text}
    except ValueError as error:
        return {"file": str(path), "line": 0, "reason": str(error), "text": ""}
    return {"file": str(path)}


def _module_file(name: str) -> Path | None:
    """The file that `python -m NAME` runs, found without importing its packages; None where there is none.

    An empty path: it is there and no source file (built in, frozen, an extension).
    """
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    spec = importlib.util.find_spec(parts[0])
    for end in range(2, len(parts) + 1):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:end]), spec.submodule_search_locations)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.machinery.PathFinder.find_spec(f"{name}.__main__", spec.submodule_search_locations)
    if spec is None:
        return None
    return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else Path()


# --- the engine's own parser --------------------------------------------------------------------------------------------


def parse_swift(order: dict[str, Any]) -> dict[str, object]:
    """ms-swift's argument classes on the real flags, as rank 0 of the real world; folders that it makes are scratch."""
    world = int(order["world"])
    if world > 1:
        ranks = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": order["local_world"]}
        os.environ.update({name: str(value) for name, value in ranks.items()})
        os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"})
        _join_fake_world(world)
    flags = list(order["flags"])
    if "--output_dir" in flags[:-1]:
        flags[flags.index("--output_dir") + 1] = order["scratch"]
    else:
        flags += ["--output_dir", order["scratch"]]
    from swift.utils import parse_args

    kind = _pipeline(order["swift"]).args_class
    if hasattr(kind, "_init_external_vllm"):  # it joins the group of a rollout that may serve another run by now
        kind._init_external_vllm = lambda _: None
    _, rest = parse_args(kind, flags)
    return {"rest": [word for word in rest if word.startswith("--")]}


def _join_fake_world(world: int) -> None:
    """Torch's own process group without other ranks, so that what a parser broadcasts stays here."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=world, store=FakeStore())


# --- GPUs ---------------------------------------------------------------------------------------------------------------


def look_at_gpus(order: dict[str, Any]) -> dict[str, object]:  # noqa: ARG001
    """What torch sees: whether there is CUDA, how many GPUs, how much memory is free on each."""
    import torch

    if not torch.cuda.is_available():
        return {"cuda": False, "build": torch.version.cuda or "", "memory": []}
    memory = []
    for index in range(torch.cuda.device_count()):
        try:
            free, total = torch.cuda.mem_get_info(index)
        except RuntimeError:
            free, total = 0, 0
        memory.append([free, total])
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return {"cuda": True, "build": torch.version.cuda or "", "memory": memory, "visible": visible}


if __name__ == "__main__":
    main(*sys.argv[1:3])
