"""The probe before a launch, on programs that behave badly. The engines in the version tests are doubles: files with the
lines that the real packages have at the versions named; tests/swift asks the real ms-swift.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import venv
from pathlib import Path

import pytest

from prl_tui.core import catalog, checks
from prl_tui.core import trial as trials
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Finding
from prl_tui.core.plan import build
from prl_tui.core.trial import Step, Trial
from prl_tui.runs import trial
from tests import odd_program
from tests.built_in import RECIPES
from tests.runs.helpers import is_living, until


@pytest.fixture
def program(tmp_path: Path, config_dir: Path):
    """Write train.py and a module beside it that it imports; the config that runs it."""

    def make(module: str, script: str = "import odd_module\n") -> RunConfig:
        (config_dir / "odd.toml").write_text(odd_program.recipe())
        (tmp_path / "train.py").write_text(script)
        (tmp_path / "odd_module.py").write_text(module)
        return resolve(catalog.load([config_dir]).recipes["odd"], "one")

    return make


def found(config: RunConfig, made: Trial) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in trials.findings(config, made)]


def test_a_sound_program_is_found_sound_and_is_not_run(program, tmp_path: Path) -> None:
    config = program("VALUE = 1\n", "from odd_module import VALUE\nimport json, os.path\nopen('ran', 'w')\n")
    steps: list[str] = []
    made = trial.run(build(config), tmp_path, on_step=steps.append)
    assert (made.end, found(config, made)) == ("done", [])
    assert [step.name for step in made.steps] == ["versions", "import"]
    assert not (tmp_path / "ran").exists()


def test_noise_is_no_matter(program, tmp_path: Path) -> None:
    config = program("import os\nos.write(1, b'\\x1b[2J\\xff\\x00{\"step\": \"\"}\\n' * 50)\nprint('{', flush=True)\n")
    assert trial.run(build(config), tmp_path).end == "done"


def test_a_missing_name_is_an_error_with_the_reason(program, tmp_path: Path) -> None:
    config = program("", "from odd_module import nothing_like_it\n")
    (finding,) = trials.findings(config, trial.run(build(config), tmp_path))
    assert (finding.code, finding.severity, finding.field) == ("probe-import", "error", "training_env")
    assert "cannot import name 'nothing_like_it' from 'odd_module'" in finding.message


def test_a_missing_module_names_the_way_out(program, tmp_path: Path) -> None:
    config = program("import no_such_engine\n")
    (finding,) = trials.findings(config, trial.run(build(config), tmp_path))
    assert "No module named 'no_such_engine'" in finding.message
    assert "Install it in the training environment" in finding.why


def test_an_import_in_a_try_is_optional(program, tmp_path: Path) -> None:
    config = program("", "try:\n    import no_such_engine\nexcept ImportError:\n    pass\n")
    assert found(config, trial.run(build(config), tmp_path)) == []


def test_a_hang_ends_at_the_deadline_with_all_that_it_started(program, tmp_path: Path) -> None:
    config = program(
        "import subprocess, time\nchild = subprocess.Popen(['sleep', '600'])\n"
        "open('pid', 'w').write(str(child.pid))\nprint('waiting for a lock', flush=True)\ntime.sleep(600)\n"
    )
    began = time.monotonic()
    made = trial.run(build(config), tmp_path, deadline=1.5)
    assert time.monotonic() - began < 10
    (finding,) = trials.findings(config, made)
    assert (finding.code, finding.severity) == ("probe-late", "warning")
    assert "importing the trainer" in finding.message
    assert finding.why == "It last printed: waiting for a lock"
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{pid}").exists()


STARTS = """
import os, subprocess, sys
command = [sys.executable, "-c", "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"]
subprocess.Popen([*command, "session"], start_new_session=True)
if os.fork() == 0:  # a daemon: no parent, a session of its own
    os.setsid()
    if os.fork() == 0:
        os.execve(command[0], [*command, "daemon"], {})
    os._exit(0)
os.wait()
import time
while not all(os.path.exists(name) and open(name).read() for name in ("session", "daemon")):
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("ending", "end"),
    [("pass", "done"), ("os._exit(3)", "crashed"), ("os.kill(os.getpid(), 11)", "killed"), ("time.sleep(600)", "late")],
)
def test_nothing_that_the_engine_started_outlives_a_trial(program, tmp_path: Path, ending: str, end: str) -> None:
    config = program(STARTS + ending + "\n")
    made = trial.run(build(config), tmp_path, deadline=1.5 if "sleep" in ending else 30)
    pids = [int((tmp_path / name).read_text()) for name in ("session", "daemon")]
    left = [pid for pid in pids if is_living(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left
    assert made.end == end


def test_a_trial_whose_app_was_killed_ends(program, tmp_path: Path) -> None:
    config = program(STARTS + "time.sleep(600)\n")
    app = os.fork()
    if app == 0:
        trial.run(build(config), tmp_path)
        os._exit(0)
    until(lambda: all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in ("session", "daemon")),
          "the engine")  # fmt: skip
    os.kill(app, signal.SIGKILL)
    os.waitpid(app, 0)
    pids = [int((tmp_path / name).read_text()) for name in ("session", "daemon")]
    until(lambda: not any(map(is_living, pids)), "the end of it")


@pytest.mark.parametrize(("ending", "code"), [
    ("os._exit(7)", "probe-crashed"), ("os.kill(os.getpid(), 9)", "probe-killed"), ("os._exit(0)", "probe-silent"),
])  # fmt: skip
def test_a_crash_is_a_finding_and_says_where(program, tmp_path: Path, ending: str, code: str) -> None:
    config = program(f"import os\nprint('about to die', flush=True)\n{ending}\n")
    made = trial.run(build(config), tmp_path)
    (finding,) = trials.findings(config, made)
    assert finding.code == code
    assert "about to die" in finding.why
    if code != "probe-silent":
        assert "importing the trainer" in finding.message


def test_an_environment_without_an_interpreter_cannot_be_tried(program, tmp_path: Path) -> None:
    config = program("").with_values({"training_env": str(tmp_path / "none")}, Source.SET)
    made = trial.run(build(config), tmp_path)
    assert found(config, made) == [("probe-unstartable", "error")]


def test_an_interpreter_that_is_none_is_a_finding(program, tmp_path: Path) -> None:
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho no python here; exit 0\n")
    python.chmod(0o755)
    config = program("").with_values({"training_env": str(tmp_path / "env")}, Source.SET)
    assert found(config, trial.run(build(config), tmp_path)) == [("probe-silent", "warning")]


def test_a_probe_can_be_cancelled(program, tmp_path: Path) -> None:
    config = program("import time; time.sleep(600)\n")
    over = threading.Event()
    threading.Timer(0.5, over.set).start()
    made = trial.run(build(config), tmp_path, cancelled=over)
    assert (made.end, found(config, made)) == ("cancelled", [])


def test_a_signal_to_this_process_s_group_is_not_the_probe_s_business(program, tmp_path: Path) -> None:
    config = program("import os; open('group', 'w').write(str(os.getpgid(0)))\n")
    trial.run(build(config), tmp_path)
    assert int((tmp_path / "group").read_text()) != os.getpgid(0)
    assert signal.getsignal(signal.SIGINT) is not None


# --- the words of a command that the engine's parser reads -------------------------------------------------------------


@pytest.mark.parametrize(("launcher", "command"), [("torchrun", "sft"), ("swift", "sft")])
def test_the_parser_gets_the_real_words(tmp_path: Path, launcher: str, command: str) -> None:
    config = resolve(RECIPES["swift-sft"], "lora-4gpu").with_values({"launcher": launcher}, Source.SET)
    order = trial.order_of(build(config), tmp_path, tmp_path)
    plan = build(config)
    assert order["swift"] == command
    assert order["flags"] == [word for word in plan.argv if word in order["flags"]][-len(order["flags"]) :]
    assert order["flags"][0] == "--per_device_train_batch_size"
    assert (order["world"], order["local_world"], order["gpus"]) == (4, 4, True)


# --- versions that do not fit together ---------------------------------------------------------------------------------

BARE = "            dataloader_params['worker_init_fn'] = seed_worker\n"  # ms-swift 3.3.0, grpo_trainer.py
BOUND = (
    "                dataloader_params['worker_init_fn'] = partial(\n                    seed_worker, num_workers=1)\n"
)
OLD_SEED, NEW_SEED = (
    "def seed_worker(_):\n",
    "def seed_worker(worker_id: int, num_workers: int, rank: int):\n",
)  # 4.51.3, 4.52
TABLE = "from trl.trainer.utils import print_rich_table\n"
DEVICE = "        engine_kwargs = dict(\n            device=device,\n"


def engines(folder: Path, **files: str) -> RunConfig:
    """A venv with these files as its packages; `__` stands for a slash."""
    venv.create(folder, with_pip=False)
    packages = next((folder / "lib").glob("python3*/site-packages"))
    for name, text in files.items():
        path = packages / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for package in {name.partition("__")[0] for name in files}:
        (packages / package / "__init__.py").write_text("")
    recipe = RECIPES["prl-grpo"]
    changes = {"training_env": str(folder), "dataloader_num_workers": 1}
    return resolve(recipe, "standard-4gpu").with_values(changes, Source.SET)


def mismatches(config: RunConfig, here: Path) -> list[Finding]:
    known = {"seed-worker", "vllm-device", "print-rich-table", "shuffle-dataset"}
    return [one for one in trials.findings(config, trial.run(build(config), here)) if one.code in known]


GRPO, REWARD = "swift__trainers__rlhf_trainer__grpo_trainer", "swift__trainers__rlhf_trainer__reward_trainer"
VLLM = "swift__llm__infer__infer_engine__vllm_engine"


def test_known_mismatches_are_named_before_anything_is_loaded(tmp_path: Path) -> None:
    # PRL's logs of February 2026: transformers 4.56.2, TRL at its head, vLLM 0.10.2 below ms-swift 3.3.0.dev0
    config = engines(tmp_path / "env", **{
        GRPO: BARE, REWARD: TABLE, VLLM: DEVICE, "transformers__trainer_utils": NEW_SEED,
        "trl__trainer__utils": "def pad(): ...\n", "trl__trainer__grpo_trainer": "            shuffle=self.shuffle_dataset,\n",
        "vllm__engine__arg_utils": "class EngineArgs:\n    model: str = ''\n",
    })  # fmt: skip
    named = {finding.code: finding for finding in mismatches(config, tmp_path)}
    assert set(named) == {"seed-worker", "vllm-device", "print-rich-table", "shuffle-dataset"}
    fix = named["seed-worker"].fixes[0]
    assert dict(fix.changes) == {"dataloader_num_workers": 0}
    repaired = config.with_values(fix.changes, Source.FIX)
    assert "seed-worker" not in {finding.code for finding in mismatches(repaired, tmp_path)}


def test_versions_that_fit_have_no_word(tmp_path: Path) -> None:
    config = engines(tmp_path / "env", **{
        GRPO: BARE, REWARD: TABLE, VLLM: DEVICE, "transformers__trainer_utils": OLD_SEED,
        "trl__trainer__utils": "def print_rich_table(df): ...\n", "trl__trainer__grpo_trainer": "x = 1\n",
        "vllm__engine__arg_utils": "class EngineArgs:\n    device: Device = None\n",
    })  # fmt: skip
    assert mismatches(config, tmp_path) == []


def test_a_bound_seed_worker_fits(tmp_path: Path) -> None:
    files = {GRPO: BARE + BOUND, "transformers__trainer_utils": NEW_SEED}
    assert mismatches(engines(tmp_path / "env", **files), tmp_path) == []


# --- from what was found to findings -------------------------------------------------------------------------------------


def config_of(name: str = "prl-grpo", preset: str = "standard-4gpu") -> RunConfig:
    return resolve(RECIPES[name], preset)


def test_flags_that_the_parser_did_not_take_are_at_their_fields() -> None:
    text = "remaining_argv: ['--train_type', 'lora', '--num_infer_workers', '4', '--odd', '1']"
    made = Trial("done", (Step("arguments", False, "ValueError", text),))
    named = trials.findings(config_of(), made)
    assert [(finding.field, finding.code) for finding in named] == [
        ("train_type", "flag-unknown"), ("num_infer_workers", "flag-unknown"), ("", "flag-unknown"),
    ]  # fmt: skip
    assert named[0].why == "Since 4.0 it is called --tuner_type."


def test_a_refusal_is_at_the_field_that_it_names() -> None:
    text = "generation_batch_size (8) must be evenly divisible by num_generations (3). Valid values: [2, 4, 8]."
    made = Trial("done", (Step("arguments", False, "ValueError", text, "args_mixin.py:229"),))
    (finding,) = trials.findings(config_of("swift-grpo", "colocate-4gpu"), made)
    assert (finding.code, finding.field) == ("probe-arguments", "num_generations")


def test_argparse_s_reason_comes_from_what_it_printed() -> None:
    step = Step("arguments", False, "SystemExit", "2")
    made = Trial("done", (step,), words=("usage: …", "rlhf.py: error: argument --tuner_type: invalid choice: 'x'"))
    (finding,) = trials.findings(config_of("swift-grpo", "colocate-4gpu"), made)
    assert "invalid choice" in finding.message
    assert finding.field == "tuner_type"


@pytest.mark.parametrize(("seen", "code"), [
    ({"cuda": False, "build": "12.8", "memory": []}, "probe-no-cuda"),
    ({"cuda": False, "build": "", "memory": []}, "probe-no-cuda"),
    ({"cuda": True, "memory": [[70 << 30, 80 << 30]] * 2}, "probe-few-gpus"),
    ({"cuda": True, "memory": [[20 << 30, 80 << 30]] * 4}, "vllm-share"),
    ({"cuda": True, "memory": [[70 << 30, 80 << 30]] * 4}, ""),
])  # fmt: skip
def test_what_torch_sees_of_the_gpus(seen: dict[str, object], code: str) -> None:
    named = trials.findings(config_of(), Trial("done", (Step("gpus", found=seen),)))
    assert [finding.code for finding in named] == ([code] if code else [])


def test_a_probe_s_finding_that_is_known_already_is_not_told_twice() -> None:
    report = checks.check(config_of())
    one = Finding("probe-import", "error", "training_env", "x")
    joined = trials.joined(trials.joined(report, (one,)), (one,))
    assert [finding.code for finding in joined.findings].count("probe-import") == 1
    assert not joined.ok
    assert joined.findings[0] == one


def test_a_probe_s_error_is_told_where_the_box_only_warned() -> None:
    """NVML looks minutes before; what torch sees in the environment is what vLLM will see (its own check at the start)."""
    report = checks.check(config_of())
    warned = Finding("vllm-share", "warning", "vllm_gpu_memory_utilization", "before")
    report = trials.joined(report, (warned,))
    error = Finding("vllm-share", "error", "vllm_gpu_memory_utilization", "now")
    joined = trials.joined(report, (error,))
    assert [one for one in joined.findings if one.code == "vllm-share"] == [error]
    assert [one for one in trials.joined(joined, (warned,)).findings if one.code == "vllm-share"] == [error]


def test_the_probe_measures_the_share_where_vllm_runs() -> None:
    """PRL's fork of ms-swift 3.3: three ranks, engines on the last three of six GPUs."""
    full, free = [10 << 30, 80 << 30], [80 << 30, 80 << 30]
    first = Trial("done", (Step("gpus", found={"cuda": True, "memory": [full] * 3 + [free] * 3}),))
    assert trials.findings(config_of(preset="six-gpu"), first) == ()
    last = Trial("done", (Step("gpus", found={"cuda": True, "memory": [free] * 5 + [full], "visible": "2,3,4,5,6,7"}),))
    (found,) = trials.findings(config_of(preset="six-gpu"), last)
    assert "of GPU 5 " in found.message
    own = config_of(preset="six-gpu").with_values({"cuda_visible_devices": None}, Source.SET)
    (found,) = trials.findings(own, last)
    assert (found.code, found.severity) == ("vllm-share", "error")
    assert "of GPU 7 " in found.message
    assert dict(found.fixes[0].changes) == {"vllm_gpu_memory_utilization": 0.12}


def custom(**values: object) -> RunConfig:
    recipe = RECIPES["custom"]
    unset = {"script": None, "training_env": "this"}
    return resolve(recipe, "python").with_values({**unset, **values}, Source.SET)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Programs of a person's own, each of which would tell if it ran."""
    run = "open('ran', 'w')\n"
    (tmp_path / "pkg" / "bare").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name in ("good.py", "pkg/__init__.py", "pkg/train.py", "pkg/__main__.py", "pkg/bare/__init__.py", "stop.py"):
        (tmp_path / name).write_text(run)
    (tmp_path / "bad.py").write_text(run + "x = 1\nfor i in range(3)\n    print(i)\n")
    (tmp_path / "pkg/bad.py").write_text(run + "x = (\n")
    (tmp_path / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"))
    (tmp_path / "raw.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\nif true; then :; fi\n")
    return tmp_path


@pytest.mark.parametrize(("values", "code", "says"), [
    ({"script": "good.py"}, "", ""),
    ({"script": "latin.py"}, "", ""),
    ({"script": "pkg"}, "", ""),
    ({"script": "run.sh", "launcher": "torchrun", "launcher_arguments": "--no-python"}, "", ""),
    ({"script": "none.py"}, "probe-script", "none.py."),
    ({"script": "empty"}, "probe-script", "empty/__main__.py."),
    ({"script": "bad.py"}, "probe-syntax", "bad.py, line 3: expected ':'."),
    ({"script": "raw.py"}, "probe-syntax", "raw.py, line "),
    ({"script": "run.sh"}, "probe-syntax", "run.sh, line 2: "),
    ({"module": "pkg.train"}, "", ""),
    ({"module": "pkg"}, "", ""),
    ({"module": "json.tool"}, "", ""),
    ({"module": "stop"}, "", ""),
    ({"module": "guardian"}, "probe-module", "no module guardian"),
    ({"module": "pkg.bare"}, "probe-module", "no module pkg.bare"),
    ({"module": "pkg.none"}, "probe-module", "no module pkg.none"),
    ({"module": "pkg.train.more"}, "probe-module", "no module pkg.train.more"),
    ({"module": "pkg/train.py"}, "probe-module", "no module pkg/train.py"),
    ({"module": "pkg.bad"}, "probe-syntax", "bad.py, line 2: "),
])  # fmt: skip
def test_a_program_of_one_s_own_is_read_and_never_run(own: Path, values: dict[str, str], code: str, says: str) -> None:
    """The judge is `python -m` and `python FILE` of 3.11, which refuse just those, when they come to it."""
    config = custom(**values)
    made = trial.run(build(config), own)
    told = trials.findings(config, made)
    assert (made.end, [finding.code for finding in told]) == ("done", [code] if code else []), told
    if code:
        assert says in told[0].message
        assert told[0].field == next(iter(values))
    assert not (own / "ran").exists()
    assert "source" in [step.name for step in made.steps]


def test_an_interpreter_that_does_not_start_stops_a_program_of_one_s_own(own: Path) -> None:
    python = own / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 5\n")
    python.chmod(0o755)
    config = custom(script="good.py", training_env=str(python))
    assert found(config, trial.run(build(config), own)) == [("probe-crashed", "error")]
