"""`check`, `recipes`, `presets`: exit codes, the JSON contract, and one sentence for each kind of bad input."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.cli import main


def one_sentence(result: object, code: int = 2) -> str:
    """The command failed with that code, nothing on stdout, one line on stderr, and no traceback."""
    assert result.code == code, result  # type: ignore[attr-defined]
    assert result.out == ""  # type: ignore[attr-defined]
    [line] = result.err.splitlines()  # type: ignore[attr-defined]
    assert line.startswith("prl-tui: ")
    assert "unexpected fault" not in line
    return line


# --- exit codes ---


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "prl-grpo/standard-4gpu"], 0),
        (["check", "prl-grpo"], 0),
        (["check", "demo/two-ranks"], 0),
        (["check", "prl-grpo", "--set", "num_generations=3"], 1),
        (["check", "prl-grpo", "--set", "num_generations=2abc"], 1),
        (["check", "prl-grpo", "--set", "cuda_visible_devices=0,1,2,3,-1"], 0),
        (["check", "prl-grpo", "--set", "cuda_visible_devices=0,1,2,3,-1", "--strict"], 1),
        (["check", "prl-grpo", "--gpus", "2"], 1),
        (["check"], 2),
        (["chekc", "prl-grpo"], 2),
        (["check", "prl-grpo", "--rows", "-5"], 2),
        (["check", "prl-grpo", "--nonsense"], 2),
        (["check", "prl-grpo", "--set", "num_generations"], 2),
        (["check", "prl-grpo", "--stack", "swift-9"], 2),
        (["launch", "demo/two-ranks", "--stack", "zzz", "--dry-run"], 2),
        (["launch", "demo/two-ranks", "--stack", "zzz", "--smoke", "2"], 2),
        (["logs", "nothing"], 3),
        (["stop", "last"], 3),
        (["--version"], 0),
        (["--help"], 0),
        (["check", "--help"], 0),
        (["recipes"], 0),
        (["presets"], 0),
        (["presets", "prl-grpo"], 0),
        (["presets", "nothing"], 2),
        ([], 4),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes(cli: Callable[..., object], words: list[str], code: int) -> None:
    assert cli(*words).code == code  # type: ignore[attr-defined]


# --- the JSON contract ---


def test_check_json_has_the_keys_and_figures_that_scripts_rely_on(cli: Callable[..., object]) -> None:
    result = cli("check", "prl-grpo/standard-4gpu", "--rows", "8462", "--json")
    data = json.loads(result.out)  # type: ignore[attr-defined]
    assert data["ok"] is True
    assert (data["recipe"], data["stack"]) == ("prl-grpo", "swift-3.3-prl")
    assert data["devices"] == {"spec": "0,1,2,3", "listed": 4, "usable": None}
    expected = {
        "rule": "grpo", "nproc_per_node": 4, "nnodes": 1, "per_device": 4, "accumulation": 1, "global_batch": 16,
        "generation_batch": 16, "prompts_per_step": 8, "formula": "4 × 4 = 16",
    }  # fmt: skip
    assert data["batch"].items() >= expected.items()
    # rows × generations / (batch × processes), rounded up, × epochs: PRL's own runs have 10,580 steps so.
    assert data["steps"].items() >= {"rows": 8462, "per_epoch": 1058, "total": 10580}.items()
    assert [one for one in data["findings"] if one["severity"] == "error"] == []


def test_check_json_is_printed_with_a_finding_for_a_broken_rule(cli: Callable[..., object]) -> None:
    result = cli("check", "prl-grpo", "--set", "num_generations=3", "--json")
    assert result.code == 1  # type: ignore[attr-defined]
    data = json.loads(result.out)  # type: ignore[attr-defined]
    assert data["ok"] is False
    finding = data["findings"][0]
    assert set(finding) == {"code", "severity", "field", "message", "why", "fixes"}
    assert (finding["code"], finding["severity"], finding["field"]) == (
        "num-generations-divides",
        "error",
        "num_generations",
    )
    assert finding["fixes"]
    for fix in finding["fixes"]:
        assert set(fix) == {"set", "label"}
        words = [word for key, value in fix["set"].items() for word in ("--set", f"{key}={value}")]
        again = cli("check", "prl-grpo", "--set", "num_generations=3", *words)
        assert again.code == 0, fix  # type: ignore[attr-defined]


def test_check_json_is_printed_with_a_finding_for_a_bad_value(cli: Callable[..., object]) -> None:
    result = cli("check", "prl-grpo", "--set", "num_generations=a[$(x)]", "--json")
    finding = json.loads(result.out)["findings"][0]  # type: ignore[attr-defined]
    assert (finding["code"], finding["field"], finding["severity"]) == ("bad-value", "num_generations", "error")


def test_json_stays_json_in_chinese_with_bytes_that_are_no_text(script: Callable[..., object]) -> None:
    result = script("check", "prl-grpo", "--set", b"model=\xff", "--json", "--lang", "zh")
    assert result.code == 1  # type: ignore[attr-defined]
    assert json.loads(result.out)["ok"] is False  # type: ignore[attr-defined]


def test_recipes_and_presets_json(cli: Callable[..., object]) -> None:
    recipes = json.loads(cli("recipes", "--json").out)  # type: ignore[attr-defined]
    assert {"demo", "prl-grpo"} <= {recipe["name"] for recipe in recipes["recipes"]}
    data = json.loads(cli("presets", "prl-grpo", "--json").out)  # type: ignore[attr-defined]
    assert "prl-grpo/standard-4gpu" in {row["preset"] for row in data["presets"]}
    assert {"key", "type", "default", "variable", "label", "help"} <= set(data["fields"][0])


def test_presets_show_the_batch_of_the_config_file_that_lies_here(cli, tmp_path: Path, monkeypatch) -> None:
    """Judged by what train_rm.py and train_safe_mm_dpo.py print as their batch: per GPU × accumulation × GPUs."""

    def batches(recipe: str) -> list[tuple[int | None, int | None]]:
        rows = json.loads(cli("presets", recipe, "--json").out)["presets"]
        return [(row["per_device"], row["global_batch"]) for row in rows]

    monkeypatch.chdir(tmp_path)
    assert batches("reward-model") == [(None, None)] * 3, "nobody knows what will stand in it"
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/rm_config.yaml").write_text("batch_size: 6\ngradient_accumulation_steps: 2\n")
    (tmp_path / "configs/dpo_config.yaml").write_text("λ_init: 1\nbatch_size: 16\ngradient_accumulation_steps: 4\n")
    assert batches("reward-model") == [(6, 48), (6, 48), (6, 6)]
    assert batches("safe-mm-dpo") == [(16, 512), (16, 256), (16, 64)]
    (tmp_path / "configs/dpo_config.yaml").write_text("batch_size: many\n")
    assert batches("safe-mm-dpo") == [(None, None)] * 3


# --- sources that cannot be used ---

NOISE = random.Random(2).randbytes(10_000_000)
FILES = {
    "empty": (b"", "is empty"),
    "noise": (NOISE, "not UTF-8"),
    "ascii-noise": (bytes(b % 95 + 32 for b in NOISE[:100_000]) * 100, "line 1: not TOML"),
    "latin": ("recipe = 'é'".encode("latin-1"), "line 1: this is not UTF-8 text"),
    "syntax": (b'recipe = "demo"\n[values\n', "line 2: not TOML"),
    "no-recipe": (b"[values]\nx = 1\n", "the key recipe is missing"),
    "recipe-type": (b"recipe = 3\n", "run.toml: recipe: "),
    "values-type": (b'recipe = "demo"\nvalues = 3\n', "run.toml: values: "),
    "recipe-near": (b'recipe = "prl_grpo"\n', "did you mean prl-grpo?"),
    "preset-near": (b'recipe = "prl-grpo"\npreset = "standart-4gpu"\n', "did you mean standard-4gpu?"),
    "field-near": (b'recipe = "prl-grpo"\n[values]\nnum_generation = 4\n', "did you mean num_generations?"),
    "digits": (b'recipe = "demo"\n[values]\nseed = 1' + b"0" * 5000, "not TOML"),
}


@pytest.mark.parametrize("command", [["check"], ["export", "--format", "bash"]], ids=["check", "export"])
@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_used_is_one_sentence(
    cli: Callable[..., object], tmp_path: Path, content: bytes, words: str, command: list[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(content)
    line = one_sentence(cli(command[0], str(path), *command[1:]))
    assert words in line
    assert str(path) in line
    assert len(line) < 600


SOURCES = {
    "prl-gpro": "did you mean prl-grpo?",
    "zzz": "there is no recipe named zzz",
    "prl-grpo/standrad-4gpu": "did you mean standard-4gpu?",
    "prl-grpo/": "the name of the preset is empty",
    "missing.toml": "missing.toml: there is no such file.",
    "/no/such/dir/x": "there is no such file, recipe or run",
    "": "SOURCE is empty",
    "  ": "SOURCE is empty",
    "a" * 5000: "there is no recipe named aaa",
    "/" + "a" * 5000: "there is no such file",
    "prl-grpo/" + "a" * 5000: "prl-grpo has no preset named",
    ".": "is a directory",
    "/dev/zero": "it is a device, and a file is needed",
    "/dev/null": "it is a device, and a file is needed",
    "[/red]": "there is no",
}


@pytest.mark.parametrize(("source", "words"), SOURCES.items(), ids=[source[:30] for source in SOURCES])
def test_a_source_that_is_nothing_is_one_sentence(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in one_sentence(cli("check", source))


def test_an_unknown_field_is_named_with_its_near_miss(cli: Callable[..., object]) -> None:
    assert "did you mean num_generations?" in one_sentence(cli("check", "prl-grpo", "--set", "num_genrations=2"))
    assert "--unset sed: " in one_sentence(cli("check", "prl-grpo", "--unset", "sed"))


@pytest.mark.parametrize("given", ["seed=3", "seed="])
def test_a_field_is_set_or_unset(cli: Callable[..., object], given: str) -> None:
    for words in (("--unset", "seed", "--set", given), ("--set", given, "--unset", "seed")):
        told = one_sentence(cli("check", "prl-grpo", *words))
        assert told.endswith("--set and --unset both name seed; keep one of them.")
    assert cli("check", "prl-grpo", "--unset", "seed", "--unset", "seed").code == 0


def test_a_file_or_folder_without_permission_is_one_sentence(open_folder: Path, as_nobody: Callable[..., str]) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    path = open_folder / "run.toml"
    path.write_text('recipe = "demo"\n')
    path.chmod(0)

    def both() -> None:
        print(main(["check", str(path)]), main(["check", str(closed / "x.toml")]), main(["check", str(closed / "x")]))

    *lines, codes = sorted(as_nobody(both).splitlines(), reverse=True)
    assert codes == "2 2 2"
    assert len(lines) == 3
    assert any("run.toml: no permission to read it." in line for line in lines)
    assert not any("unexpected" in line for line in lines)


def test_a_folder_named_like_a_recipe_does_not_hide_it(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prl-grpo").mkdir()
    assert cli("check", "prl-grpo").code == 0  # type: ignore[attr-defined]
    (tmp_path / "prl-grpo" / "mine.toml").write_text('recipe = "demo"\n')
    result = cli("check", "prl-grpo/mine.toml", "--json")
    assert json.loads(result.out)["recipe"] == "demo"  # type: ignore[attr-defined]


# --- a person's and a project's own recipes ---

PRESETS = 'schema = 1\nextends = "demo"\n[presets.{name}.values]\nmax_steps = 7\n'


def test_a_persons_presets_are_found_and_a_broken_file_is_said_and_skipped(
    cli: Callable[..., object], config_dir: Path
) -> None:
    (config_dir / "presets").mkdir()
    (config_dir / "presets" / "a.toml").write_text(PRESETS.format(name="mine"))
    (config_dir / "presets" / "b.toml").write_text("x = = 1")
    result = cli("check", "demo/mine", "--json")
    assert result.code == 0  # type: ignore[attr-defined]
    assert "skipped: " in result.err  # type: ignore[attr-defined]
    assert "b.toml, line 1: not TOML" in result.err  # type: ignore[attr-defined]


def test_a_projects_recipes_are_used_only_after_somebody_allowed_it(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".prl-tui").mkdir()
    (tmp_path / ".prl-tui" / "x.toml").write_text(PRESETS.format(name="theirs"))
    before = cli("check", "demo/theirs")
    assert before.code == 2  # type: ignore[attr-defined]
    assert "--trust yes" in before.err  # type: ignore[attr-defined]
    assert cli("recipes", "--trust", "yes").code == 0  # type: ignore[attr-defined]
    assert cli("check", "demo/theirs").code == 0  # type: ignore[attr-defined]
    cli("recipes", "--trust", "no")
    after = cli("check", "demo/theirs")
    assert after.code == 2  # type: ignore[attr-defined]
    assert "--trust" not in after.err  # type: ignore[attr-defined]


# --- environment, language, streams ---


def test_the_environment_is_read_only_when_asked(cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRL_NUM_GENERATIONS", "3")
    assert cli("check", "prl-grpo").code == 0  # type: ignore[attr-defined]
    assert cli("check", "prl-grpo", "--use-env").code == 1  # type: ignore[attr-defined]
    assert cli("check", "prl-grpo", "--use-env", "--set", "num_generations=4").code == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "words",
    [
        ["--lang", "zh", "presets", "prl-grpo"],
        ["presets", "prl-grpo", "--lang", "zh"],
        ["presets", "--lang=zh", "prl-grpo"],
    ],
)
def test_the_language_option_works_anywhere(cli: Callable[..., object], words: list[str]) -> None:
    assert "每设备 batch" in cli(*words).out  # type: ignore[attr-defined]
    assert "每设备 batch" not in cli("presets", "prl-grpo").out  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "value"), [("PRL_TUI_LANG", "zh"), ("LANG", "zh_CN.UTF-8"), ("LC_ALL", "zh_TW")])
def test_the_language_comes_from_the_environment(
    cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert "每设备 batch" in cli("presets", "prl-grpo").out  # type: ignore[attr-defined]
    assert "每设备 batch" not in cli("presets", "prl-grpo", "--lang", "en").out  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["check", "prl-grpo"], ["presets", "prl-grpo", "--lang", "zh"]], ids=" ".join)
def test_a_terminal_that_knows_only_ascii_is_no_reason_to_stop(script: Callable[..., object], words: list[str]) -> None:
    assert script(*words, env={**os.environ, "PYTHONIOENCODING": "ascii"}).code == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "words", ["recipes", "presets prl-grpo", "export prl-grpo --format bash", "check prl-grpo --json"]
)
def test_a_reader_that_leaves_early_is_no_fault(words: str) -> None:
    for reader in ("true", "head -1"):
        program = f"{sys.executable} -c 'from prl_tui.cli import entry; entry()'"
        line = f"{program} {words} | {reader}; echo ${{PIPESTATUS[0]}} >&2"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
        assert done.stderr in {"0\n", "141\n"}  # as other tools: SIGPIPE


def test_interrupted_is_130(cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    from prl_tui.cli import settings

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(settings, "verdict", interrupt)
    result = cli("check", "demo")
    assert (result.code, result.err) == (130, "")  # type: ignore[attr-defined]


def waiting(pipe: int) -> int:
    """Bytes in a pipe that nobody has read."""
    size = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, size)
    return size[0]


def test_a_real_ctrl_c_is_130_and_silent(tmp_path: Path) -> None:
    pipe = tmp_path / "run.sh"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    while True:  # a full pipe: the command waits for a reader
        try:
            os.write(reader, b"x" * 4096)
        except BlockingIOError:
            break
    os.read(reader, 4096)
    words = [sys.executable, "-c", "from prl_tui.cli import entry; entry()", "export", "demo/two-ranks"]
    words += ["--format", "bash", "-o", str(pipe)]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    full = waiting(reader) + 4096
    deadline = time.monotonic() + 30
    while waiting(reader) < full and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    for _ in range(5):  # on a busy box it may come between two waits; a person presses it again
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(10)
            break
        running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    os.close(reader)
    assert (running.returncode, err) == (130, "")


def test_a_recipe_without_presets_is_listed(cli: Callable[..., object], config_dir: Path) -> None:
    (config_dir / "recipes").mkdir()
    (config_dir / "recipes" / "a.toml").write_text(
        'schema = 1\nname = "bare"\ntitle = { en = "bare" }\nlauncher = "python"\n[program.python]\nscript = "x.py"\n'
    )
    for words in (["presets", "bare"], ["presets", "bare", "--json"], ["recipes"], ["check", "bare"]):
        result = cli(*words)
        assert (result.code, result.err) == (0, ""), words  # type: ignore[attr-defined]
    assert cli("export", "bare", "--format", "command").out.strip() == "python x.py"  # type: ignore[attr-defined]


def test_a_fault_of_our_own_is_one_sentence_that_says_where_the_details_are(
    cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from prl_tui.cli import settings

    monkeypatch.setattr(settings, "verdict", lambda *_: 1 / 0)
    result = cli("check", "demo")
    assert result.code == 4  # type: ignore[attr-defined]
    [line] = result.err.splitlines()  # type: ignore[attr-defined]
    details = Path(line.rpartition(" ")[2].rstrip("."))
    assert "ZeroDivisionError" in details.read_text("utf-8")


def test_use_env_names_a_variable_that_nothing_reads(
    cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRL_NUM_GENERATION", "4")
    assert "PRL_NUM_GENERATION " not in cli("check", "prl-grpo").out  # type: ignore[attr-defined]
    found = cli("check", "prl-grpo", "--use-env")
    assert "! PRL_NUM_GENERATION is set" in found.out  # type: ignore[attr-defined]
    assert "PRL_NUM_GENERATIONS is the nearest name." in found.out  # type: ignore[attr-defined]


@pytest.mark.parametrize("workdir", ["~/project", "project"])
def test_rows_are_counted_below_a_working_directory_in_the_persons_home(
    cli: Callable[..., object], monkeypatch: pytest.MonkeyPatch, workdir: str
) -> None:
    home = Path(os.environ["HOME"])
    data = home / "project" / "datasets" / "original"
    data.mkdir(parents=True)
    (data / "mr_train.jsonl").write_text("{}\n" * 40)
    monkeypatch.chdir(home)
    found = cli("check", "prl-grpo", "--set", f"workdir={workdir}", "--json")
    assert json.loads(found.out)["steps"]["rows"] == 40  # type: ignore[attr-defined]


def test_another_persons_home_that_does_not_exist_is_no_fault(cli: Callable[..., object]) -> None:
    for setting in ("workdir=~nobody-of-that-name/x", "training_env=~nobody-of-that-name/venv"):
        result = cli("check", "demo", "--set", setting, "--here")
        assert "fault" not in result.err  # type: ignore[attr-defined]
        assert result.code in {0, 1}  # type: ignore[attr-defined]


def test_too_many_rows_say_how_many_there_may_be(cli: Callable[..., object]) -> None:
    result = cli("check", "prl-grpo", "--rows", "9" * 19)
    assert result.code == 2  # type: ignore[attr-defined]
    assert "is not a whole number from 0 to 999999999999999" in result.err  # type: ignore[attr-defined]
