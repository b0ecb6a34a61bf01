"""Ask the platforms' own loaders whether they take our exported files, and write down what they said.

    python tests/export/goldens.py --whole DIR          # with prl-tui: the files, as they are exported
    python tests/judges/platforms.py --files DIR --out tests/fixtures/exports      # with a platform's package

Each format is judged where its package can be imported; the others are left alone. A control, one file with a key that
does not exist, must be refused: a loader that takes everything is no judge.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

QUANTITY = r"^(\+|-)?[0-9]+(\.[0-9]*)?([KMGTPE]i|[numkMGTPE])?$"
"""An amount on Kubernetes; the package has a class for it, of which its JSON schema knows nothing."""

Judge = Callable[[str], None]
"""Raises where the loader refuses a file's text."""


def closed(schema: Any) -> Any:
    """A JSON schema in which an object has no keys but its own, unless it says so."""
    if isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        for part in schema.values():
            closed(part)
    elif isinstance(schema, list):
        for part in schema:
            closed(part)
    return schema


def trainjob(text: str) -> None:
    """The API's own types and their schema, closed; then what the CRD of trainer.kubeflow.org/v1alpha1 adds in words."""
    import jsonschema
    from kubeflow_trainer_api.models import TrainerV1alpha1TrainJob

    data = yaml.safe_load(text)
    schema = closed(TrainerV1alpha1TrainJob.model_json_schema(by_alias=True))
    schema["$defs"]["IoK8sApimachineryPkgApiResourceQuantity"] = {"type": ["integer", "string"], "pattern": QUANTITY}
    jsonschema.validate(data, schema)
    assert TrainerV1alpha1TrainJob.from_dict(data).to_dict() == data
    name, trainer = data["metadata"]["name"], data["spec"]["trainer"]
    assert re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", name), name
    assert len(name) <= 63
    assert len(trainer.get("image", "")) <= 500
    words = [*trainer["command"], *trainer["args"]]
    assert len(words) <= 128
    assert max(map(len, words)) <= 65_536
    assert len(trainer.get("env", ())) <= 128


def pytorchjob(text: str) -> None:
    """The API's own types; what they do not know is lost on the way, so the way back must give the same."""
    from kubeflow.training import ApiClient

    data, client = yaml.safe_load(text), ApiClient()
    read = client.deserialize(SimpleNamespace(data=json.dumps(data)), "KubeflowOrgV1PyTorchJob")
    assert client.sanitize_for_serialization(read) == data
    assert re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", data["metadata"]["name"])
    for replica in data["spec"]["pytorchReplicaSpecs"].values():
        assert [one["name"] for one in replica["template"]["spec"]["containers"]] == ["pytorch"]


def skypilot(text: str) -> None:
    """SkyPilot's own reader of a task, without its clouds."""
    import sky

    data = yaml.safe_load(text)
    secrets = data.get("secrets", {})
    sky.Task.from_yaml_config(copy.deepcopy(data))
    task = sky.Task.from_yaml_config(copy.deepcopy(data), secrets_overrides=[(name, "value") for name in secrets])
    assert set(task.secrets) == set(secrets)
    assert task.run == data["run"]
    assert task.num_nodes == data["num_nodes"]
    task.validate_name()


def dstack(text: str) -> None:
    """dstack's own reader of a configuration, its rule for names, and its client's look at the commands."""
    from dstack._internal.core.models.configurations import parse_run_configuration
    from dstack._internal.core.services import validate_dstack_resource_name
    from dstack._internal.utils.interpolator import VariablesInterpolator

    data = yaml.safe_load(text)
    read = parse_run_configuration(data)
    validate_dstack_resource_name(read.name)
    for command in read.commands:
        assert VariablesInterpolator({"run": {"args": ""}}, skip=["secrets"]).interpolate_or_error(command) == command


JUDGES: dict[str, tuple[str, str, Judge, str]] = {
    "trainjob": ("kubeflow-trainer-api", ".trainjob.yaml", trainjob, "numNode"),
    "pytorchjob": ("kubeflow-training", ".pytorchjob.yaml", pytorchjob, "nprocPerNodes"),
    "skypilot": ("skypilot", ".sky.yaml", skypilot, "num_node"),
    "dstack": ("dstack", ".dstack.yml", dstack, "node"),
}
"""Format → its judge's package, the ending of its files, the judge, and a key that nobody knows."""


def wrong(text: str, key: str) -> str:
    """The file with a misspelt key where the right one would be."""
    data = yaml.safe_load(text)
    place = data["spec"].get("trainer", data["spec"]) if "spec" in data else data
    place[key] = 2
    return json.dumps(data)


def verdict(judge: Judge, text: str) -> str:
    """ "accepted", or the first line of what the loader says."""
    try:
        judge(text)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return "accepted"


def judged(name: str, folder: Path) -> dict[str, Any] | None:
    """What one format's judge says of every file; None where its package is not here."""
    package, ending, judge, key = JUDGES[name]
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    files = {path.name: path.read_text("utf-8") for path in sorted(folder.glob(f"*{ending}"))}
    if not files:
        sys.exit(f"{folder} has no *{ending}")
    said = {file: verdict(judge, text) for file, text in files.items()}
    control = verdict(judge, wrong(next(iter(files.values())), key))
    assert control != "accepted", f"{package} takes {key}: it judges nothing"
    return {"judge": {"program": package, "version": version, "how": " ".join((judge.__doc__ or "").split())},
            "control": {"key": key, "said": control.partition(":")[0]}, "files": said}  # fmt: skip


def main() -> None:
    """One JSON file for each format that can be judged here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/exports"))
    args = parser.parse_args()
    for name in JUDGES:
        found = judged(name, args.files)
        if found is None:
            continue
        for file in found["files"]:
            shape = (args.out / file).read_bytes() if (args.out / file).exists() else b""
            found["files"][file] = {"said": found["files"][file], "golden": hashlib.sha256(shape).hexdigest()}
        path = args.out / f"{name}.verdicts.json"
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"{path}: {found['judge']['program']} {found['judge']['version']}, {len(found['files'])} files")


if __name__ == "__main__":
    main()
