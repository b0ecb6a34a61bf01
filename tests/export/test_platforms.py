"""Files for platforms: on every node the real engine's launcher gets exactly the plan's words, with that node's place.

Judges: bash 5.2 and dash 0.5.12 run what each file starts, after the platform's own expansion; a recording launcher has
argv and environment; torchrun 2.13 and accelerate 1.15 make one world of two nodes. tests/judges/platforms.py asks the
platforms' own loaders.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, settings
from hypothesis import given as example
from hypothesis import strategies as st

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS, of_file
from prl_tui.export.nodes import gpus
from tests.built_in import RECIPES
from tests.export import goldens
from tests.export.platforms import ADDRESS, NAMES, PORT, given, kubelet, started, text_of
from tests.export.scripts import Bench, Outcome
from tests.export.test_bash_quoting import TEXT
from tests.export.test_bash_script import shellcheck
from tests.export.test_slurm import JOB, NASTY, RANK, SRUN, ranks
from tests.judges import platforms
from tests.plain_texts import is_plain

PRESETS = [pytest.param(r, name, id=f"{r.name}-{name}") for r in RECIPES.values() for name in r.presets]
PIECES = ["$(RANK)", "$(WORLD_SIZE)", "$$", "$$(RANK)", "$", "$(", "${{ secrets.x }}", "${{", "$${{ x }}", "}}", "${RANK}", "$RANK",
          "'", '"', "\n", "\\", "!!", "!x", "中文", "🚀", "\u2028", "\x85", "\ufeff", "\r", "\x1b", "# x",
          ": ", "- ", " ", "\t", "%"]  # fmt: skip
VALUE = st.one_of(TEXT, st.lists(st.sampled_from(PIECES) | TEXT, min_size=1, max_size=4).map("".join)).filter(is_plain)
NO_TERMINAL = "cannot set terminal process group|no job control in this shell|can't access tty"


def custom(preset: str = "torchrun", **values: object) -> RunConfig:
    return resolve(RECIPES["custom"], preset).with_values(values, Source.SET)


def run(bench: Bench, name: str, config: RunConfig, cwd: Path | None = None, *, nodes: int = 1, rank: int = 0,
        processes: int = 2, cards: int = 0, **more: str) -> Outcome:  # fmt: skip
    """One node of an exported file."""
    env = {**given(name, nodes, rank, processes, cards or processes), **more}
    return container(bench, name, text_of(name, config), cwd, **env)


def container(bench: Bench, name: str, text: str, cwd: Path | None = None, **env: str) -> Outcome:
    """What a node's container does, without what an interactive shell says of a missing terminal."""
    outcome = bench.run_words(started(name, text, env), cwd, HOME=str(bench.bin), **env)
    told = [line for line in outcome.err.splitlines(keepends=True) if not re.search(NO_TERMINAL, line)]
    return replace(outcome, err="".join(told))


def port(name: str, flag: str) -> list[str]:
    """The flag with the platform's own port, where it has one."""
    return [f"{flag}={PORT}"] if PORT in given(name).values() else []


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("platforms"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@example(first=VALUE, second=VALUE)
@settings(max_examples=25, deadline=None)
def test_any_text_arrives_byte_for_byte_and_runs_nothing(shared: Bench, name: str, first: str, second: str) -> None:
    assume(is_plain("--a", first, second))
    config = custom(arguments=["--a", first, second], environment=[f"NOTE={first}"])
    outcome = run(shared, name, config, shared.bin)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[-3:] == ["--a", first, second]
    assert outcome.env["NOTE"] == first


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_odd_texts_arrive_byte_for_byte(shared: Bench, name: str) -> None:
    source = random.Random(2026)
    for _ in range(20):
        words = ["".join(source.choices(PIECES, k=source.randint(1, 12))) for _ in range(100)]
        outcome = run(shared, name, custom(arguments=words), shared.bin)
        assert outcome.argv is not None
        assert outcome.argv[-100:] == words


@pytest.mark.parametrize("name", NAMES)
def test_words_that_an_interactive_shell_would_take_from_its_history_arrive(shared: Bench, name: str) -> None:
    """Found by bash 5.2.15 as SkyPilot calls it: `!x` out of a file is a word of its history; this set of words showed it."""
    source = random.Random(20261128)
    words = [["".join(source.choices(PIECES, k=source.randint(1, 12))) for _ in range(100)] for _ in range(9)][8]
    outcome = run(shared, name, custom(arguments=words), shared.bin)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[-100:] == words


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_nodes_of_torchrun(bench: Bench, name: str, rank: int) -> None:
    outcome = run(bench, name, custom("torchrun", nnodes=2), nodes=2, rank=rank)
    assert outcome.err == ""
    assert outcome.argv == ["torchrun", "--nproc_per_node=2", "--nnodes=2", f"--node_rank={rank}", f"--master_addr={ADDRESS}",
                            *port(name, "--master_port"), "train.py"]  # fmt: skip
    assert not {"WORLD_SIZE", "RANK", "PET_NNODES", "PET_NODE_RANK"} & outcome.env.keys()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_nodes_of_accelerate_count_all_processes(bench: Bench, name: str, rank: int) -> None:
    outcome = run(bench, name, custom("accelerate", nnodes=2), nodes=2, rank=rank)
    assert outcome.err == ""
    assert outcome.argv is not None
    wanted = ["accelerate", "launch", "--num_processes=4", "--num_machines=2", f"--machine_rank={rank}",
              f"--main_process_ip={ADDRESS}", *port(name, "--main_process_port")]  # fmt: skip
    assert outcome.argv[: len(wanted)] == wanted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_nodes_of_swift_have_its_variables(bench: Bench, name: str, rank: int) -> None:
    outcome = run(bench, name, custom("swift", nnodes=2), nodes=2, rank=rank)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[0] == "swift"
    wanted = {"NPROC_PER_NODE": "2", "NNODES": "2", "NODE_RANK": str(rank), "MASTER_ADDR": ADDRESS}
    wanted |= {"MASTER_PORT": PORT} if port(name, "") else {}
    assert wanted.items() <= outcome.env.items()


@pytest.mark.parametrize("name", NAMES)
def test_one_process_of_swift_is_not_started_by_torchrun(bench: Bench, name: str) -> None:
    outcome = run(bench, name, custom("swift", nproc_per_node=1), processes=1)
    assert outcome.argv is not None
    assert not {"NPROC_PER_NODE", "NNODES", "WORLD_SIZE", "RANK"} & outcome.env.keys()


@pytest.mark.parametrize("name", NAMES)
def test_python_on_several_nodes_is_refused_here_and_there(bench: Bench, name: str) -> None:
    told = "python starts one process: it cannot run on several nodes."
    assert FORMATS[name].refusal(plan.build(custom("python", nnodes=2))) == told
    outcome = run(bench, name, custom("python"), nodes=2, processes=1)
    assert (outcome.argv, outcome.code, outcome.err) == (None, 1, f"error: {told}\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_node_that_knows_no_place_stops_unless_it_is_alone(bench: Bench, name: str) -> None:
    text = text_of(name, custom(nnodes=2))
    outcome = container(bench, name, text)
    assert (outcome.argv, outcome.code, len(outcome.err.splitlines())) == (None, 1, 1)
    alone = container(bench, name, text_of(name, custom()))
    assert alone.argv == ["torchrun", "--nproc_per_node=2", "--standalone", "train.py"]


@pytest.mark.parametrize("name", NAMES)
def test_the_platforms_gpus_are_never_overwritten(bench: Bench, name: str) -> None:
    config = custom(cuda_visible_devices="4,7")
    assert run(bench, name, config, CUDA_VISIBLE_DEVICES="GPU-1a,GPU-2b").env["CUDA_VISIBLE_DEVICES"] == "GPU-1a,GPU-2b"
    assert run(bench, name, config).env["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert any("4,7" in loss and "0,1" in loss for loss in FORMATS[name](plan.build(config)).losses)
    assert "CUDA_VISIBLE_DEVICES" not in run(bench, name, custom()).env


@pytest.mark.parametrize("name", NAMES)
def test_fewer_gpus_than_processes_stop_the_node(bench: Bench, name: str) -> None:
    config = resolve(RECIPES["prl-grpo"], "standard-4gpu")
    outcome = run(bench, name, config, processes=4, CUDA_VISIBLE_DEVICES="0,1")
    assert (outcome.argv, outcome.code) == (None, 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_code_is_the_nodes_code(bench: Bench, name: str) -> None:
    bench.code = 37
    assert run(bench, name, custom()).code == 37


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_of_the_job_overrides_a_field_and_is_checked(bench: Bench, name: str) -> None:
    outcome = run(bench, name, custom(), PRL_NPROC_PER_NODE="two") if name == "dlc" else None
    if outcome is not None:
        assert (outcome.argv, outcome.code) == (None, 1)
    assert run(bench, name, custom(), PRL_SCRIPT="a b.py").argv[-1] == "a b.py"  # type: ignore[index]


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_comes_by_its_name_and_is_demanded(bench: Bench, name: str) -> None:
    config = custom(environment=["WANDB_API_KEY"])
    assert run(bench, name, config, WANDB_API_KEY="abc def").env["WANDB_API_KEY"] == "abc def"
    outcome = run(bench, name, config)
    assert (outcome.argv, outcome.code) == (None, 1)
    assert "WANDB_API_KEY" in outcome.err
    assert any("WANDB_API_KEY" in loss for loss in FORMATS[name](plan.build(config)).losses)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("one", "preset"), PRESETS)
def test_every_preset_runs_its_plan(one: object, preset: str, name: str, bench: Bench, tmp_path: Path) -> None:
    folder = str(tmp_path / "files")
    config = resolve(one, preset)  # type: ignore[arg-type]
    there = config.with_values({"master_port": int(PORT)}, Source.SET) if PORT in given(name).values() else config
    made = plan.with_folder(plan.build(there), folder)
    place = {"PRL_FILES_DIR": folder} if made.files else {}
    processes = config.number("nproc_per_node") or 1
    outcome = run(bench, name, config, tmp_path, processes=processes, cards=gpus(made), **place)
    if made.activation.kind in {"conda", "venv", "python"} or made.workdir or any(f.glob for f in config.recipe.fields):
        assert (outcome.argv, outcome.code, len(outcome.err.splitlines())) == (None, 1, 1)
        return
    assert outcome.err == ""
    assert outcome.argv == list(made.argv)
    assert dict(made.env).items() <= outcome.env.items()
    for file in made.files:
        assert (tmp_path / "files" / file.name).read_text("utf-8") == file.text(folder)


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_ending_says_the_format(name: str) -> None:
    found = of_file(f"my.job{FORMATS[name].suffix}")
    assert found is not None
    assert found.name == name


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_shellcheck_finds_nothing_in_what_a_node_runs(name: str, launcher: str, tmp_path: Path) -> None:
    path = tmp_path / "node.sh"
    words = started(name, text_of(name, custom(launcher, cuda_visible_devices="2,5")), {})
    text = words[2] if name in {"trainjob", "pytorchjob"} else words[-1]
    path.write_text(f"#!/bin/bash\n{text}\n", "utf-8")
    done = subprocess.run([shellcheck(), str(path)], capture_output=True, text=True, timeout=60)
    assert done.stdout + done.stderr == ""


# --- PAI-DLC ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "dash", "sh"])
@pytest.mark.parametrize("expanded", [False, True])
def test_a_dlc_command_is_the_same_in_every_shell_and_behind_a_kubelet(
    bench: Bench, shell: str, expanded: bool
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    words = [*PIECES, "$(RANK)$(RANK) $$$ $$$$(NPROC_PER_NODE) ${{{{"]
    text, env = text_of("dlc", custom(arguments=words)), given("dlc")
    command = kubelet(text, env) if expanded else text
    assert command == text
    outcome = bench.run_words([shell, "-c", command], **env)
    assert outcome.argv is not None
    assert outcome.argv[-len(words) :] == words


def test_a_dlc_node_with_too_few_gpus_stops_with_one_line(bench: Bench) -> None:
    outcome = run(bench, "dlc", resolve(RECIPES["prl-grpo"], "standard-4gpu"), cards=2)
    assert (outcome.argv, outcome.code) == (None, 1)
    assert outcome.err == "error: this node has too few GPUs; the run config needs 4, and NPROC_PER_NODE says: 2\n"


def test_dlc_uses_as_many_gpus_as_the_config_has(bench: Bench) -> None:
    outcome = run(bench, "dlc", resolve(RECIPES["prl-grpo"], "standard-4gpu"), cards=8)
    assert outcome.argv is not None
    assert "--nproc_per_node=4" in outcome.argv
    assert outcome.env["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"


def test_a_dstack_command_is_the_same_in_the_shell_of_a_named_image(bench: Bench) -> None:
    made = plan.build(custom(arguments=PIECES))
    text = FORMATS["dstack"](made, image="reg.local/prl:1").text
    assert started("dstack", text, {})[0] == "/bin/sh"
    outcome = container(bench, "dstack", text, bench.bin, **given("dstack"))
    assert outcome.argv is not None
    assert outcome.argv[-len(PIECES) :] == PIECES


# --- real launchers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "launcher"), [("dlc", "torchrun"), ("trainjob", "torchrun"), ("pytorchjob", "accelerate")]
)
def test_two_nodes_of_a_real_launcher_are_one_world_with_every_value_whole(
    name: str, launcher: str, tmp_path: Path
) -> None:
    engine = tmp_path / "train 中文.py"
    engine.write_text(RANK)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    config = custom(launcher, script=str(engine), nnodes=2, nproc_per_node=1, arguments=["--path", NASTY], master_port=free,
                    environment=[f"NOTE={NASTY}", "MY_TOKEN"])  # fmt: skip
    text = text_of(name, config)
    outside = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8",
               "GLOO_SOCKET_IFNAME": "lo", "MY_TOKEN": "from,outside"}  # fmt: skip
    nodes = []
    for rank in (1, 0):
        env = given(name, 2, rank, 1, 1, "127.0.0.1", str(free)) | outside
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        nodes.append(subprocess.Popen(started(name, text, env), env=env, cwd=tmp_path, **quiet))  # type: ignore[call-overload]
    try:
        logs = [node.communicate(timeout=120)[0] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    assert [node.returncode for node in nodes] == [0, 0], logs
    found = ranks(logs[1])
    assert [(one["RANK"], one["WORLD_SIZE"], one["LOCAL_RANK"]) for one in found] == [("0", "2", "0"), ("1", "2", "0")]
    assert all(one["argv"] == ["--path", NASTY] and one["NOTE"] == NASTY for one in found)
    assert {one["MY_TOKEN"] for one in found} == {"from,outside"}


# --- goldens and their judges -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return goldens.texts()


def test_the_files_are_the_judged_ones(written: dict[str, str]) -> None:
    kept = {path.name: path.read_bytes() for path in goldens.HERE.iterdir() if path.suffix != ".json"}
    assert {name: goldens.shape(text).encode() for name, text in written.items()} == kept


@pytest.mark.parametrize("name", list(platforms.JUDGES))
def test_the_platforms_own_loader_took_them_and_refused_a_wrong_key(name: str) -> None:
    told = json.loads((goldens.HERE / f"{name}.verdicts.json").read_text("utf-8"))
    files = sorted(goldens.HERE.glob(f"*{FORMATS[name].suffix}"))
    assert {file: one["said"] for file, one in told["files"].items()} == {path.name: "accepted" for path in files}
    assert {one["golden"] for one in told["files"].values()} == {
        hashlib.sha256(p.read_bytes()).hexdigest() for p in files
    }
    assert told["control"]["said"].endswith("Error")


@pytest.mark.parametrize("name", list(platforms.JUDGES))
def test_a_loader_that_is_here_takes_them_now(written: dict[str, str], name: str) -> None:
    package, ending, judge, key = platforms.JUDGES[name]
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not in this environment; its verdicts are kept")
    for file, text in written.items():
        if file.endswith(ending):
            assert platforms.verdict(judge, text) == "accepted"
            assert platforms.verdict(judge, platforms.wrong(text, key)) != "accepted"


@pytest.mark.parametrize("name", ["trainjob", "pytorchjob", "skypilot", "dstack"])
def test_a_script_is_a_readable_block_unless_something_in_it_could_be_read_otherwise(
    written: dict[str, str], name: str
) -> None:
    ending = FORMATS[name].suffix
    assert "|\n" in written[f"prl-grpo{ending}"] or "|-\n" in written[f"prl-grpo{ending}"]
    assert "|" not in goldens.shape(written[f"odd{ending}"])
    assert max(map(len, written[f"odd{ending}"].splitlines())) > 5000


# --- a run without GPUs --------------------------------------------------------------------------------------------

WITHOUT = {
    "cuda_visible_devices is empty": ("demo", {}),
    "the run is on the CPU": ("prl-grpo", {"cuda_visible_devices": "-1"}),
}


@pytest.mark.parametrize("name", [*NAMES, "slurm"])
@pytest.mark.parametrize("reason", WITHOUT)
def test_the_notes_of_a_run_without_gpus_ask_for_none_and_say_why(name: str, reason: str) -> None:
    recipe, values = WITHOUT[reason]
    made = plan.build(
        resolve(RECIPES[recipe], RECIPES[recipe].data.default_preset or "").with_values(values, Source.SET)
    )
    assert gpus(made) == 0
    notes = FORMATS[name](made).losses
    asked = [note for note in notes if "GPU" in note and "GPUs are asked for" not in note]
    assert sum(f"No GPUs are asked for: {reason}." in note for note in notes) == 1
    assert not any("GPUs on each" in note or "as many as" in note or "NCCL" in note for note in asked), asked
    taken = [note for note in notes if "values for them are not used" in note]
    assert not any("CUDA_VISIBLE_DEVICES" in note for note in taken)


OWN = [
    ("torchrun", {}, 2),
    ("accelerate", {}, 2),
    ("swift", {}, 2),
    ("python", {"nproc_per_node": 4}, 1),
    ("torchrun", {"nproc_per_node": 8}, 8),
    ("torchrun", {"nproc_per_node": None}, 1),
]


@pytest.mark.parametrize(("preset", "values", "count"), OWN, ids=str)
def test_a_command_of_ones_own_without_a_list_of_gpus_is_no_run_on_the_cpu(
    preset: str, values: dict[str, object], count: int
) -> None:
    made = plan.build(resolve(RECIPES["custom"], preset).with_values(values, Source.SET))
    notes = FORMATS["dlc"](made).losses
    assert sum(note.endswith(f"nodes 1, as many GPUs on each as processes: {count}.") for note in notes) == 1
    assert "cuda_visible_devices is not set: the job sees all GPUs of its node." in notes
    assert not any("without GPUs" in note or "No GPUs" in note for note in notes)
    for name in {*NAMES} - {"dlc"}:
        (note,) = [note for note in FORMATS[name](made).losses if "No GPUs are asked for" in note]
        assert note.endswith(f"for example to {','.join(map(str, range(count)))}.")


@pytest.mark.parametrize(
    ("source", "values", "told"),
    [
        ("custom/torchrun", {"cuda_visible_devices": "-1"}, "nodes 1, a type without GPUs."),
        ("custom/torchrun", {"cuda_visible_devices": "0,1,2"}, "nodes 1, GPUs on each 3."),
        ("swift-sft/lora-4gpu", {"use_cpu": True}, "nodes 1, a type without GPUs."),
        ("swift-sft/lora-4gpu", {}, "nodes 1, GPUs on each 4."),
        ("demo/two-ranks", {}, "nodes 1, a type without GPUs."),
    ],
    ids=str,
)
def test_the_form_of_a_dlc_job_takes_the_gpus_that_the_config_says(
    source: str, values: dict[str, object], told: str
) -> None:
    recipe, _, preset = source.partition("/")
    made = plan.build(resolve(RECIPES[recipe], preset).with_values(values, Source.SET))
    assert sum(note.endswith(told) for note in FORMATS["dlc"](made).losses) == 1


def test_a_value_for_the_gpus_of_a_slurm_job_that_asks_for_none_is_used(bench: Bench) -> None:
    (bench.bin / "srun").write_text(SRUN)
    (bench.bin / "srun").chmod(0o755)
    around = {**JOB, "CUDA_VISIBLE_DEVICES": "", "PRL_CUDA_VISIBLE_DEVICES": "1,2"}
    outcome = bench.run(FORMATS["slurm"](plan.build(resolve(RECIPES["demo"], "two-ranks"))).text, **around)
    assert (outcome.err, outcome.env["CUDA_VISIBLE_DEVICES"]) == ("", "1,2")
