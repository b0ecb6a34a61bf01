"""Files for platforms: on every node the real engine's launcher gets exactly the plan's words, with that node's place.

Judges: bash 5.2 and dash 0.5.12 run what each file starts, after the platform's own expansion; a recording launcher has
argv and environment. tests/judges/platforms.py asks the platforms' own loaders.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given as example
from hypothesis import settings
from hypothesis import strategies as st

from prl_tui.core import catalog, plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS, of_file
from prl_tui.export.nodes import gpus
from tests.export.platforms import ADDRESS, NAMES, PORT, given, kubelet, started, text_of
from tests.export.scripts import Bench, Outcome
from tests.export.test_bash_quoting import TEXT

RECIPES = catalog.load().recipes
PRESETS = [pytest.param(r, name, id=f"{r.name}-{name}") for r in RECIPES.values() for name in r.presets]
PIECES = ["$(RANK)", "$(WORLD_SIZE)", "$$", "$$(RANK)", "$", "$(", "${{ secrets.x }}", "${{", "$${{ x }}", "}}", "${RANK}", "$RANK",
          "'", '"', "\n", "\\", "!!", "!x", "中文", "🚀", "\u2028", "\x85", "\ufeff", "\r", "\x1b", "# x",
          ": ", "- ", " ", "\t", "%"]  # fmt: skip
VALUE = st.one_of(TEXT, st.lists(st.sampled_from(PIECES) | TEXT, min_size=1, max_size=4).map("".join))
LAUNCHERS = ("torchrun", "accelerate", "swift", "python")


def custom(preset: str = "torchrun", **values: object) -> RunConfig:
    return resolve(RECIPES["custom"], preset).with_values(values, Source.SET)


def run(bench: Bench, name: str, config: RunConfig, cwd: Path | None = None, *, nodes: int = 1, rank: int = 0,
        processes: int = 2, cards: int = 0, **more: str) -> Outcome:  # fmt: skip
    """One node of an exported file."""
    env = {**given(name, nodes, rank, processes, cards or processes), **more}
    return bench.run_words(started(name, text_of(name, config), env), cwd, **env)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("platforms"))


@pytest.mark.parametrize("name", NAMES)
@example(first=VALUE, second=VALUE)
@settings(max_examples=25, deadline=None)
def test_any_text_arrives_byte_for_byte_and_runs_nothing(shared: Bench, name: str, first: str, second: str) -> None:
    config = custom(arguments=["--a", first, second], environment=[f"NOTE={first}"])
    outcome = run(shared, name, config, shared.bin)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[-3:] == ["--a", first, second]
    assert outcome.env["NOTE"] == first


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_odd_texts_arrive_byte_for_byte(shared: Bench, name: str) -> None:
    import random

    source = random.Random(20261128)
    for _ in range(20):
        words = ["".join(source.choices(PIECES, k=source.randint(1, 12))) for _ in range(100)]
        outcome = run(shared, name, custom(arguments=words), shared.bin)
        assert outcome.argv is not None
        assert outcome.argv[-100:] == words


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_nodes_of_torchrun(bench: Bench, name: str, rank: int) -> None:
    outcome = run(bench, name, custom("torchrun", nnodes=2), nodes=2, rank=rank)
    assert outcome.err == ""
    assert outcome.argv == ["torchrun", "--nproc_per_node=2", "--nnodes=2", f"--node_rank={rank}", f"--master_addr={ADDRESS}",
                            f"--master_port={PORT}", "train.py"]  # fmt: skip
    assert not {"WORLD_SIZE", "RANK", "PET_NNODES", "PET_NODE_RANK"} & outcome.env.keys()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_nodes_of_accelerate_count_all_processes(bench: Bench, name: str, rank: int) -> None:
    outcome = run(bench, name, custom("accelerate", nnodes=2), nodes=2, rank=rank)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[:7] == ["accelerate", "launch", "--num_processes=4", "--num_machines=2", f"--machine_rank={rank}",
                                f"--main_process_ip={ADDRESS}", f"--main_process_port={PORT}"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 1])
def test_two_nodes_of_swift_have_its_variables(bench: Bench, name: str, rank: int) -> None:
    outcome = run(bench, name, custom("swift", nnodes=2), nodes=2, rank=rank)
    assert outcome.err == ""
    assert outcome.argv is not None
    assert outcome.argv[0] == "swift"
    wanted = {"NPROC_PER_NODE": "2", "NNODES": "2", "NODE_RANK": str(rank), "MASTER_ADDR": ADDRESS, "MASTER_PORT": PORT}
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
    outcome = bench.run_words(started(name, text, {}))
    assert (outcome.argv, outcome.code, len(outcome.err.splitlines())) == (None, 1, 1)
    alone = bench.run_words(started(name, text_of(name, custom()), {}))
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
