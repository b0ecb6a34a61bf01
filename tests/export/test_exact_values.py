"""Ten thousand texts a format through real shells: each arrives in the engine's argv and environment byte for byte.

hypothesis makes the texts, once; every format carries all of them, many in one plan: as a field's flag, as a free
argument, as a field's variable and as a free variable. A stub engine keeps what the kernel says it got. No text may run
anything: the folder in which the script runs stays empty. Judges: bash 5.2 and dash 0.5.12.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from prl_tui.core import catalog, plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS
from tests.export import slurm_cluster
from tests.export.scripts import Bench, Outcome, recipe, text_field
from tests.export.test_bash_script import shellcheck
from tests.export.test_slurm import JOB, SRUN
from tests.plain_texts import is_plain, plain

MANY, FEW = 10_000, 300
BATCH = 100
"""Texts in one plan."""

TYPED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
PIECES = st.sampled_from(
    ["$(touch canary)", "`touch canary`", "';touch canary;'", '";touch canary;"', "\ntouch canary\n", "|touch canary", "&touch canary&",
     "$HOME", "${x}", "${x:-$(touch canary)}", "$((1+1))", "$$", "$@", "$1", "!!", "!", "*", "?", "[a-z]", "~", "~root", "~/x", "a b",
     " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\\", "\\\\", "\\\n", "\\n", "\\0", "'", '"', "''", '""', "'\"'\"'", "$'\\n'", '$"x"',
     "--x", "-n", "-e", "--", "-", "=", "A=b", "--x=y", "%", "%s", "%n", "%%", "%q", "%PATH%", "{a,b}", "{inner}", "{", "}", "#", " #",
     ";", ";;", "&&", "||", "&", "|", "<", ">", ">canary", "<(touch canary)", "(", ")", "[[ x ]]", "EOF", "END_OF_FILE", "\nEOF\n",
     "\x01", "\x07", "\x1b[2J", "\x7f", "\x80", "\x85", "\xa0", "中文", "训练 数据", "🚀", "\U0001f469\u200d\U0001f467",
     "\u2018", "\u2019", "it\u2019s", "\u201c用\u201d", "\u2013", "\u2026", "\uff0c", "é", "\u2028", "\u200b", "\ufeff", "\U0010ffff",
     "0", "00", "0=", "a+=1", "1e5", "true", "null", "C:\\x\\", "/data/a b/c", "s3://b/a@b", "a,b", "^", "^&", ":", "@", "+"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PIECES, inner, max_size=3),
    max_leaves=4,
).map(lambda tree: json.dumps(tree, ensure_ascii=False))
TEXT = st.one_of(TYPED, st.lists(PIECES | TYPED, min_size=1, max_size=5).map("".join), PIECES, JSON)


def texts(count: int) -> list[str]:
    """That many different texts, as hypothesis draws and varies them; none is a secret, which no format writes."""
    found: dict[str, None] = {}
    kept: list[str] = []

    @settings(max_examples=count * 12 // 10, database=None, phases=[Phase.generate])
    @given(TEXT)
    def draw(text: str) -> None:
        found[text] = None

    while len(kept) < count:
        draw()
        kept = plain(list(found))
    return kept[:count]


def test_no_text_is_taken_for_a_secret() -> None:
    """Out of `github_pat_`, which stands in our source, hypothesis 6.170 made a key of GitHub's form."""
    made = "github_pat_" * 3
    assert not is_plain(made)
    assert plain(["a", made, "--api_key", "b-c", "--x", "y"]) == ["a", "--api_key", "--x", "y"]


@pytest.fixture(scope="module")
def few() -> list[str]:
    return texts(FEW)


@pytest.fixture(scope="module")
def many() -> list[str]:
    return texts(MANY)


@dataclass
class Carried:
    """A plan that carries some texts, and what the engine must get."""

    config: RunConfig
    argv: list[str]
    env: dict[str, str]


def in_fields(items: list[str]) -> Carried:
    """Each text as the value of a field that has a flag and a variable."""
    fields = [text_field(f"t{n}", env=f"E{n}") for n in range(len(items))]
    config = resolve(recipe(*fields)).with_values({f"t{n}": text for n, text in enumerate(items)}, Source.SET)
    words = [word for n, text in enumerate(items) for word in (f"--t{n}", text)]
    return Carried(config, ["python", "train.py", *words], {f"E{n}": text for n, text in enumerate(items)})


CUSTOM = catalog.load(only="custom").recipes["custom"]


def in_words(items: list[str]) -> Carried:
    """Each text as a free argument, an empty one among them, and in a free variable."""
    entries = [f"V{n}={text}" for n, text in enumerate(items)]
    config = resolve(CUSTOM, "python").with_values({"arguments": ["", *items], "environment": entries}, Source.SET)
    return Carried(config, ["python", "train.py", "", *items], {f"V{n}": text for n, text in enumerate(items)})


def file_in(shell: str) -> Callable[[Bench, str, Path], Outcome]:
    """The text is a file that the shell runs."""
    return lambda bench, text, cwd: bench.run(text, cwd, shell)


def pasted_in(shell: str) -> Callable[[Bench, str, Path], Outcome]:
    """The text is what stands after the shell's -c, as a platform's box has it."""

    def run(bench: Bench, text: str, cwd: Path) -> Outcome:
        bench.file.write_text(f'exec {shell} -c "$LINE"\n')
        return bench.run_file(bench.file, cwd, LINE=text)

    return run


def sourced_in(shell: str) -> Callable[[Bench, str, Path], Outcome]:
    """The text is read by `.` before the engine starts, which gets no argument."""

    def run(bench: Bench, text: str, cwd: Path) -> Outcome:
        (bench.bin / "run.env").write_text(text, "utf-8")
        return bench.run(f". {bench.bin}/run.env && exec python train.py", cwd, shell)

    return run


def in_slurm(bench: Bench, text: str, cwd: Path) -> Outcome:
    """The text is a batch file whose srun starts one task here, with the variables that Slurm sets."""
    (bench.bin / "srun").write_text(SRUN)
    (bench.bin / "srun").chmod(0o755)
    return bench.run(text, cwd, "bash", **JOB)


@dataclass(frozen=True)
class Way:
    """One format under one shell."""

    name: str
    shell: str
    run: Callable[[Bench, str, Path], Outcome]
    argv: bool = True
    """The format carries the command."""
    kinds: tuple[Callable[[list[str]], Carried], ...] = (in_fields, in_words)


WAYS = [
    Way("bash", "bash", file_in("bash")),
    Way("oneline", "bash", pasted_in("bash")),
    Way("oneline", "dash", pasted_in("dash")),
    Way("command", "bash", file_in("bash")),
    Way("command", "dash", file_in("dash")),
    Way("env", "bash", sourced_in("bash"), argv=False),
    Way("env", "dash", sourced_in("dash"), argv=False),
    Way("slurm", "bash", in_slurm, kinds=(in_words,)),  # a recipe of texts alone has no nodes
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("exact"))


def batches(items: list[str]) -> Iterator[list[str]]:
    for first in range(0, len(items), BATCH):
        yield items[first : first + BATCH]


def carries(way: Way, bench: Bench, one: Carried, empty: Path) -> None:
    """The engine gets what it must, and nothing else happened."""
    problems = [setting.problem for setting in one.config.settings.values() if setting.problem]
    assert problems == []
    outcome = way.run(bench, FORMATS[way.name](plan.build(one.config)).text, empty)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.argv is not None
    wanted = one.argv if way.argv else ["python", "train.py"]
    wrong = [(got, want) for got, want in zip(outcome.argv, wanted, strict=False) if got != want]
    assert wrong == []
    assert len(outcome.argv) == len(wanted)
    assert {
        name: (outcome.env.get(name), text) for name, text in one.env.items() if outcome.env.get(name) != text
    } == {}
    assert list(empty.iterdir()) == []


def every_text_arrives(way: Way, bench: Bench, items: list[str], empty: Path) -> None:
    if shutil.which(way.shell) is None:
        pytest.skip(f"no {way.shell} here")
    count = 0
    for batch in batches(items):
        for kind in way.kinds:
            carries(way, bench, kind(batch), empty)
        count += len(batch)
    print(f"{way.name} in {way.shell}: {count} texts arrived, each {2 * len(way.kinds)} times")


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.name}-{way.shell}")
def test_hundreds_of_texts_arrive_unchanged(way: Way, shared: Bench, few: list[str], tmp_path: Path) -> None:
    every_text_arrives(way, shared, few, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.name}-{way.shell}")
def test_ten_thousand_texts_arrive_unchanged(way: Way, shared: Bench, many: list[str], tmp_path: Path) -> None:
    assert len(many) >= MANY
    every_text_arrives(way, shared, many, tmp_path)


@pytest.mark.slow
def test_two_thousand_texts_arrive_from_overriding_variables(shared: Bench, many: list[str], tmp_path: Path) -> None:
    """Fewer: a script looks at each for a secret, with 20 ms of regular expressions."""
    fields = [text_field(f"t{n}", default="x") for n in range(BATCH)]
    text = FORMATS["bash"](plan.build(resolve(recipe(*fields)))).text
    for batch in batches(many[:2_000]):
        outcome = shared.run(text, tmp_path, **{f"PRL_T{n}": value.encode() for n, value in enumerate(batch)})
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.argv is not None
        assert outcome.argv[3 : 2 * len(batch) + 2 : 2] == batch
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_thousand_texts_arrive_through_real_slurm(
    shared: Bench, many: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By a real sbatch and srun (22.05.8 here), into the kernel's record of the task's argv and environment."""
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    count = 0
    with slurm_cluster.cluster(tmp_path_factory.mktemp("slurm")) as real:
        for first in range(0, 1_000, 2 * BATCH):
            one = in_words(many[first : first + 2 * BATCH])
            file = real.folder / "job.sbatch"
            file.write_text(FORMATS["slurm"](plan.build(one.config)).text, "utf-8")
            (shared.bin / "code").write_text("0")
            facts, log = real.submit(file, PATH=f"{shared.bin}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
            assert (facts["JobState"], facts["ExitCode"]) == ("COMPLETED", "0:0"), log
            got = shared.got()
            assert got.argv == one.argv
            assert {name: got.env.get(name) for name in one.env} == one.env
            count += len(one.env)
        assert sorted(path.name for path in real.folder.iterdir() if "canary" in path.name) == []
    print(f"slurm: {count} texts arrived through sbatch and srun, each twice")


@pytest.mark.parametrize(
    ("text", "told"), [("a\0b", "NUL character"), ("a\udcffb", "not UTF-8 text"), ("\ud83d", "not UTF-8 text")]
)
@pytest.mark.parametrize("key", ["script", "arguments", "environment", "workdir"])
def test_what_no_program_can_receive_is_a_problem_of_its_field(text: str, told: str, key: str) -> None:
    one = resolve(CUSTOM, "python").with_values({key: f"V={text}" if key == "environment" else text}, Source.SET)
    assert one.value(key) is None
    assert told in one.settings[key].problem
    assert key in one.settings[key].problem
    assert not any(text in word for word in plan.build(one).argv)


@pytest.mark.parametrize("name", ["bash", "env"])
def test_bytes_that_are_no_text_are_refused_with_one_sentence(script: Callable[..., object], name: str) -> None:
    result = script("export", "custom/python", "--set", b"workdir=a\xffb", "--format", name)
    assert (result.code, result.out) == (1, "")  # type: ignore[attr-defined]
    [line] = [line for line in result.err.splitlines() if "not UTF-8 text" in line]  # type: ignore[attr-defined]
    assert "workdir" in line


@pytest.mark.parametrize("name", ["bash", "slurm", "oneline"])
def test_shellcheck_takes_no_text_for_a_word_of_the_shell(name: str) -> None:
    """SC1010 and SC1083, by shellcheck; the words as bash lists them. Drawn texts hold one in one of some thirty runs."""
    reserved = subprocess.run(["bash", "-c", "compgen -k"], capture_output=True, text=True, check=True).stdout.split()
    assert "then" in reserved
    text = FORMATS[name](plan.build(in_words(reserved).config)).text
    words = [shellcheck(), *(["--shell=sh"] if name == "oneline" else []), "-"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60)
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bash", "slurm"])
def test_shellcheck_finds_nothing_in_scripts_that_carry_such_texts(name: str, few: list[str]) -> None:
    for batch in batches(few):
        text = FORMATS[name](plan.build(in_words(batch).config)).text
        words = [shellcheck(), "-"]
        done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=60,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
        assert done.stdout.decode() == ""
