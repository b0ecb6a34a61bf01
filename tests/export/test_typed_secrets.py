"""A key, a token or a password that is given as a value is kept nowhere: not in a config, a plan, a file or a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.core import checks, plan, secrets
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.config_file import dump
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export.scripts import Bench, recipe, text_field

SECRETS = [
    "hf_abcdefghijklmnopqrstuvwx",
    "https://me:pass-word@host/x.py",
    "sk-abcdefghijklmnopqrstuvwxyz",
    "AKIAABCDEFGHIJKLMNOP",
]
PARTS = [
    "hf_abcdefghijklmnopqrstuvwx",
    "pass-word",
    "sk-abcdefghijklmnopqrstuvwxyz",
    "AKIAABCDEFGHIJKLMNOP",
    "plainword",
]


def leaks(text: str) -> list[str]:
    return [part for part in PARTS if part in text]


def refused(config: RunConfig, key: str) -> None:
    setting = config.settings[key]
    assert setting.secret
    assert setting.problem.startswith(f"{key} has a secret in it")
    report = checks.check(config)
    assert not report.ok
    made = plan.build(config)
    fit = [one for one in FORMATS.values() if not one.refusal(made)]
    everything = [repr(config.settings), repr(report), made.command_line(), dump(config)]
    everything += [one(made).text for one in fit]
    everything += [loss for one in fit for loss in one(made).losses]
    assert leaks("\n".join(everything)) == []
    assert all(f"{key} holds a secret" in one.refused(made) for one in FORMATS.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", [Source.PRESET, Source.FILE, Source.RUN, Source.ENVIRONMENT, Source.SET, Source.FORM, Source.FIX]
)
@pytest.mark.parametrize("value", SECRETS)
def test_a_secret_by_its_look_is_kept_in_no_field(value: str, source: Source) -> None:
    for key in ("script", "workdir", "arguments", "training_env"):
        refused(resolve(RECIPES["custom"], "torchrun").with_values({key: value}, source), key)
    refused(resolve(RECIPES["prl-grpo"], "standard-4gpu").with_values({"seed": value}, source), "seed")
    refused(
        resolve(RECIPES["prl-grpo"], "standard-4gpu").with_values({"reward_funcs": ["a", value]}, source),
        "reward_funcs",
    )


def test_a_secret_by_its_flag_or_its_variable_is_kept_in_no_field() -> None:
    one = recipe(text_field("hub_token"), text_field("key", env="MY_API_KEY"), text_field("pad_token"))
    refused(resolve(one).with_values({"hub_token": "plainword"}, Source.FORM), "hub_token")
    refused(resolve(one).with_values({"key": "plainword"}, Source.FORM), "key")
    assert not resolve(one).with_values({"pad_token": "plainword"}, Source.FORM).settings["pad_token"].secret


@pytest.mark.parametrize("value", ["https://host:8080/x", "s3://bucket/a@b", "user@host:/x", "hf_short", "sk-1", "…"])
def test_what_only_resembles_one_is_a_value(value: str) -> None:
    one = resolve(RECIPES["custom"], "torchrun").with_values({"script": value}, Source.SET)
    assert (one.value("script"), one.settings["script"].secret) == (value, False)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("command", [("check",), ("launch", "--dry-run", "--no-probe"), ("export", "--format", "toml")])
@pytest.mark.parametrize("value", SECRETS)
def test_no_command_says_it(
    cli: Callable[..., object], command: tuple[str, ...], more: tuple[str, ...], value: str
) -> None:
    for key in ("script", "arguments", "per_device_train_batch_size"):
        said = cli(command[0], "custom/torchrun", "--set", f"{key}={value}", *command[1:], *more)
        assert said.code in (1, 2)  # type: ignore[attr-defined]
        assert leaks(said.out + said.err) == []  # type: ignore[attr-defined]
    for words in ((value,), ("custom/torchrun", "--set", value)):
        said = cli(command[0], *words, *command[1:], *more)
        assert leaks(said.out + said.err) == []  # type: ignore[attr-defined]


def test_a_file_that_has_one_is_read_without_it(cli: Callable[..., object], tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f'recipe = "custom"\npreset = "torchrun"\n[values]\nscript = "{SECRETS[0]}"\n')
    said = cli("check", str(file), "--json")
    assert leaks(said.out + said.err) == []  # type: ignore[attr-defined]
    assert json.loads(said.out)["ok"] is False  # type: ignore[attr-defined]


OVERRIDES = [
    *(("PRL_SCRIPT", value) for value in SECRETS),
    ("PRL_ARGUMENTS", "--x 1 --hub_token plainword"),
    ("PRL_ARGUMENTS", "--API-KEY=plainword"),
    ("PRL_ARGUMENTS", "--data https://me:pass-word@host/x"),
    ("PRL_ENVIRONMENT", "HF_TOKEN=plainword"),
    ("PRL_ENVIRONMENT", "A=1 'my_password=plainword'"),
    ("PRL_ENVIRONMENT", "A=sk-abcdefghijklmnopqrstuvwxyz"),
    ("PRL_ARGUMENTS", "DB_PASSWORD=plainword x"),
    ("PRL_ARGUMENTS", "db.password=plainword"),
    ("PRL_ARGUMENTS", "--aws_secret_access_key plainword"),
    ("PRL_ARGUMENTS", "--access_key plainword"),
    ("PRL_ARGUMENTS", "--wandb_key=plainword"),
    ("PRL_ARGUMENTS", "--password -plainword"),
    ("PRL_ARGUMENTS", "--token plainword"),
    ("PRL_ARGUMENTS", "glpat-abcdefghijklmnopqrst"),
    ("PRL_ARGUMENTS", "AIza" + "plainword-" * 4),
    ("PRL_ARGUMENTS", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFpbndvcmQifQ.c2lnbg"),
    ("PRL_ENVIRONMENT", "PGPASSWORD=plainword DB_PASS=plainword MYSQL_PWD=plainword"),
    ("PRL_LAUNCHER", "hf_abcdefghijklmnopqrstuvwx"),
    ("PRL_NPROC_PER_NODE", "hf_abcdefghijklmnopqrstuvwx"),
    ("PRL_ARGUMENTS", "--passphrase plainword"),
    ("PRL_ARGUMENTS", "--private-key=plainword"),
    ("PRL_ARGUMENTS", "--gh_token=plainword"),
    ("PRL_ARGUMENTS", "--db.password plainword"),
    ("PRL_ARGUMENTS", "--env=WANDB_API_KEY=plainword"),
    ("PRL_ARGUMENTS", "hub_token=plainword Hf_Token=plainword"),
    ("PRL_ARGUMENTS", "sh -c 'export HF_TOKEN=plainword'"),
    ("PRL_ARGUMENTS", """--cfg '{"api_key": "plainword"}'"""),
    ("PRL_ENVIRONMENT", "HF_TOKENS=plainword"),
    ("PRL_ENVIRONMENT", "GITHUB_PAT=plainword"),
    ("PRL_ENVIRONMENT", "my_token=plainword"),
    ("PRL_ENVIRONMENT", "'OPENAI_KEY=plainword'"),
    ("PRL_ENVIRONMENT", """'CFG={"api_key": "plainword"}'"""),
    ("PRL_ENVIRONMENT", "OPTS=--hub_token=plainword"),
    ("PRL_SCRIPT", "http://h/x?a=1&access_token=plainword"),
    ("PRL_SCRIPT", "https://me:plain/pass-word@host/x"),
]
ORDINARY = [
    ("PRL_SCRIPT", "https://host:8080/x"),
    ("PRL_SCRIPT", "s3://bucket/a@b"),
    ("PRL_SCRIPT", "hf_short"),
    ("PRL_ARGUMENTS", "--tokenizer a --token_type b --pad_token c --x=y --secret"),
    ("PRL_ARGUMENTS", "--pad_token=<pad> --eos_token '</s>' --max_token=5"),
    ("PRL_ARGUMENTS", "max_token=5 secret_sauce=1 token=<unk> pad_token=<pad> model.tokenizer=x"),
    ("PRL_ENVIRONMENT", "HF_TOKEN A=b TOKENS=3 OMP_NUM_THREADS=4"),
]


@pytest.mark.parametrize(("variable", "value"), OVERRIDES)
def test_an_exported_script_refuses_one_in_a_variable_and_does_not_log_it(
    variable: str, value: str, bench: Bench
) -> None:
    text = FORMATS["bash"](plan.build(resolve(RECIPES["custom"], "torchrun"))).text
    outcome = bench.run(text, **{variable: value})
    assert (outcome.argv, outcome.code) == (None, 1)
    [line] = outcome.err.splitlines()
    assert line.startswith(f"error: {variable} holds a secret")
    assert leaks(outcome.out + outcome.err) == []


@pytest.mark.parametrize(("variable", "value"), ORDINARY)
def test_an_exported_script_takes_what_only_resembles_one(variable: str, value: str, bench: Bench) -> None:
    text = FORMATS["bash"](plan.build(resolve(RECIPES["custom"], "torchrun"))).text
    outcome = bench.run(text, HF_TOKEN="given", **{variable: value})
    assert (outcome.code, outcome.err) == (0, "")


def test_the_config_and_the_script_judge_arguments_alike() -> None:
    for variable, value in (*OVERRIDES, *ORDINARY):
        key = variable.removeprefix("PRL_").lower()
        if key in {"arguments", "environment", "script"}:
            one = resolve(RECIPES["custom"], "torchrun").with_values({key: value}, Source.SET).settings[key]
            refused_ = one.secret or "is a secret" in one.problem
            assert refused_ == ((variable, value) in OVERRIDES), (key, value)


TABLES = [
    '{"api_key": "plainword"}',
    '{"a": {"hub_token": "plainword"}}',
    '{"env": {"WANDB_API_KEY": "plainword"}, "x": 1}',
    '{"headers": {"Authorization": "Bearer plainword"}}',
    '{"password": "plainword',
]


@pytest.mark.parametrize("value", TABLES)
def test_one_within_json_is_kept_nowhere_and_no_script_shows_it(value: str, bench: Bench) -> None:
    one = resolve(recipe(text_field("kwargs", "json")))
    refused(one.with_values({"kwargs": value}, Source.SET), "kwargs")
    if value.endswith("}"):
        refused(one.with_values({"kwargs": json.loads(value)}, Source.FILE), "kwargs")
    outcome = bench.run(FORMATS["bash"](plan.build(one)).text, PRL_KWARGS=value)
    assert (outcome.argv, outcome.code) == (None, 1)
    assert leaks(outcome.out + outcome.err) == []
    plain = one.with_values({"kwargs": '{"use_reentrant": false, "hub_token": null}'}, Source.SET)
    assert (plain.settings["kwargs"].secret, plain.settings["kwargs"].problem) == (False, "")


@pytest.mark.parametrize("value", ["hf_abcdefghijklmnopqrstuvwx", "hf_abcdefghijklmnopqrstuvwx=1", "a-token=plainword"])
def test_one_that_stands_where_a_variable_s_name_should_is_said_nowhere(value: str) -> None:
    config = resolve(RECIPES["custom"], "torchrun").with_values({"environment": value}, Source.SET)
    report = checks.check(config)
    assert not report.ok
    assert leaks(repr(report) + repr(config.settings) + dump(config)) == []


@pytest.mark.parametrize("name", ["PGPASSWORD", "OPENAI_KEY", "DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "AZURE_STORAGE_KEY", "WANDB_PASS",
                                  "SSH_KEY", "HF_AUTH", "AZURE_CONNECTION_STRING", "HF_TOKEN"])  # fmt: skip
def test_of_a_shell_s_variables_those_that_may_be_one_are_hidden(name: str) -> None:
    assert secrets.hidden_value(name, "plainword") == secrets.HIDDEN
    assert secrets.hidden_value("PWD", "/work") == "/work"
    assert secrets.hidden_value("CUDA_VISIBLE_DEVICES", "0,1") == "0,1"


@pytest.mark.parametrize(
    "line", ['password = "plainword"', "+  'api_key': 'plainword',", 'os.environ["HF_TOKEN"] = "plainword"']
)
def test_code_that_gives_one_to_a_name_is_kept_without_it(line: str) -> None:
    assert "plainword" not in secrets.hidden_code(line)
    assert secrets.hidden_code("tokens = 5; name = 'plainword'") == "tokens = 5; name = 'plainword'"


@pytest.mark.parametrize("value", ["EMPTY", "dummy", "sk-xxx", "your_key_here"])
def test_a_placeholder_in_a_secrets_place_is_a_value_and_reaches_the_program(value: str, bench: Bench) -> None:
    words = ["--api_key", value, "--x", "1"]
    made = resolve(RECIPES["custom"], "torchrun").with_values(
        {"arguments": words, "environment": [f"OPENAI_API_KEY={value}"]}, Source.SET
    )
    assert checks.check(made).ok
    for text in (FORMATS["bash"](plan.build(made)).text, FORMATS["oneline"](plan.build(made)).text):
        outcome = bench.run(text)
        assert outcome.argv is not None
        assert outcome.argv[-4:] == words
        assert outcome.env["OPENAI_API_KEY"] == value
    own = recipe(text_field("api_key"))
    assert resolve(own).with_values({"api_key": value}, Source.FORM).value("api_key") == value
    refused(resolve(own).with_values({"api_key": f"{value}1"}, Source.FORM), "api_key")


@pytest.mark.parametrize("value", ["dummy,hunter2", "EMPTY;hunter2"])
def test_a_placeholder_with_more_behind_a_comma_is_none(value: str, bench: Bench) -> None:
    config = resolve(RECIPES["custom"], "torchrun")
    typed = config.with_values({"environment": f"API_KEY={value}"}, Source.SET)
    assert not checks.check(typed).ok
    assert "hunter2" not in typed.text("environment")
    outcome = bench.run_config(config, PRL_ENVIRONMENT=f"API_KEY={value}")
    assert (outcome.code, outcome.argv) == (1, None)
    assert outcome.err.startswith("error: PRL_ENVIRONMENT holds a secret")
    assert "hunter2" not in outcome.out + outcome.err
