"""Names whose words say that a secret stands behind them, and data columns, whose names do not; URLs; ordinary commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.core import secrets
from tests.core.test_secret_rules import in_bash

HEX = "0123456789abcdef0123456789abcdef01234567"
COMMANDS = (
    (Path(__file__).parents[1] / "fixtures/secrets/ordinary_commands.txt").read_text(encoding="utf-8").splitlines()
)
"""As people type them for ms-swift, TRL, Transformers, OpenRLHF, verl, Megatron, accelerate, DeepSpeed and LLaMA-Factory; with
columns, folders and runs whose names have digits."""
SECRET = [
    # a password, or a user that is none, may hold an @
    "https://user:Pa@sseCr3t@host/x",
    "https://user:@a@b@host",
    "https://me@corp.com:plainword@host/x",
    "https:/user:Pa@ss@host/x",
    "https://user:pa/s@s@host/x",
    "https://verysecretvalue99@x@host",
    # names whose words say it: small letters, capitals, glued
    f"token={HEX}",
    f"FOO=token={HEX}",
    f"key={HEX}",
    f"MYTOKEN={HEX}",
    f"myToken={HEX}",
    f"--mytoken {HEX}",
    f"--fooKey {HEX}",
    f"MYKEY={HEX}",
    f"--sort_by x --foo_tokens {HEX}",
    *(
        f"--{name} plainword"
        for name in (
            "pwd",
            "mysqlPwd",
            "jwt",
            "app_jwt",
            "myJwt",
            "pw",
            "userPass",
            "jwt_token",
            "AccessKeySecret",
            "accessKeySecret",
            "appsecret",
            "clientSecret",
            "credentials",
            "credential",
            "awsCredentials",
            "SecurityToken",
            "private_token",
            "passcode",
            "ssh_key",
            "wandb_key",
            "deployKey",
            "secretKey",
        )
    ),
    "JWT=plainword",
    "pw=plainword",
    f"auth={HEX}",
    "--auth Zx9_kLmQ-pR2tUvW",
    "FOO_COOKIE=Zx9_kLmQ-pR2tUvW",
    "DB_PWD=plainword",
    "pwd=plainword",
    "DB_PWD=1234",
    "MYSECRET=plainword",
    '{"credentials": "plainword"}',
    "api_key : x",
    "api_key :x",
    '{"token": "Zx9_kLmQ-pR2tUvW"}',
    '{"token": "plainword"}',
    "{'token' : 'plainword'}",
    "token=plainword",
    "--foo_key Zx9_kLmQ-pR2tUvW",
    '{"foo_token": "Zx9_kLmQ-pR2tUvW"}',
    "https://h/x#token=hunter2secretpw",
    "https://h/x#a=1&access_token=hunter2secretpw",
    # a column's name is none
    f"--input_key {HEX}",
    f"INPUT_KEY={HEX}",
    "--input_key a1b2c3d4e5f6a7b8c9d0",
    "--input_key Zx9_kLmQ-pR2tUvW",
    "--chosen_key 01234567-89ab-cdef-0123-456789abcdef",
    f"--input_key sk-{'a' * 24}",
    f"--input_key hf_{'a' * 34}",
    f"--input_key ghp_{'a' * 36}",
]
ORDINARY = [
    # which column of a data set is meant
    "--chosen_key chosenresponse1 --rejected_key rejectedresponse1",
    "--input_key conversationsv2",
    "--input_key questions20240101",
    "--input_key con4versations2024a",
    "--response_key gpt4response2",
    "--response_key=gpt4responseturbo2",
    "--prompt-key prompts12345678901",
    "--promptKey promptsversion22",
    "data.reward_fn_key=datasource2version3",
    "PROMPT_KEY=conversationsv2",
    '{"image_key": "observations20240101", "text.key": "paragraphsv2023a"}',
    "key_column=conversationsv2",
    "--x_col a1b2c3d4e5f6a7b8c9d0 --protocol a1b2c3d4e5",
    "--caption_key captions20240101 --mask-key lossmask20240101 --speech_key recordings20240101",
    # a file of credentials, the folder
    "GOOGLE_APPLICATION_CREDENTIALS=/k/service.json",
    "--credentials ~/.aws/credentials",
    "--ssh_key ~/.ssh/id_ed25519",
    "PWD=/work OLDPWD=/x",
    "--pwd /workspace",
    # what a token is, too
    "token=<unk>",
    '{"token": "<|eot_id|>"}',
    '{"token": "[PAD]", "token": 5, "token": null}',
    "token=true",
    "token=`cat f`",
    "--label_tokens yes,no",
    "https://me@bitbucket.org/a@b",
    "ssh://git@host:22/a@b",
    "https://host/x#tokenizer=a",
]


def test_bash_and_python_know_each() -> None:
    assert [text for text in SECRET if not secrets.looks_secret(text)] == []
    assert [text for text in ORDINARY if secrets.looks_secret(text)] == []
    assert in_bash(SECRET, "C.UTF-8") == ["secret"] * len(SECRET)
    assert in_bash(ORDINARY, "C.UTF-8") == ["none"] * len(ORDINARY)


@pytest.mark.parametrize("text", SECRET)
def test_what_is_hidden_is_no_secret_any_more(text: str) -> None:
    hidden = secrets.hidden_text(text)
    assert secrets.HIDDEN in hidden
    assert not secrets.looks_secret(hidden)
    for value in (HEX, "plainword", "Zx9_kLmQ-pR2tUvW", "hunter2secretpw", "sseCr3t"):
        assert value not in hidden


def test_no_ordinary_command_is_refused() -> None:
    assert len(COMMANDS) >= 60
    refused = [line for line in COMMANDS if secrets.hidden_text(line) != line]
    refused += [line for line in COMMANDS if secrets.hidden_words(tuple(shlex.split(line))) != tuple(shlex.split(line))]
    assert refused == []
    assert in_bash(COMMANDS, "C.UTF-8") == ["none"] * len(COMMANDS)


def test_a_urls_password_goes_to_the_last_at_before_a_slash_a_blank_or_a_quote() -> None:
    for text, wanted in {
        "https://user:Pa@sseCr3t@host/x@y": "https://…@host/x@y",
        "https://a@b.c:Pa@ss@host/x": "https://…@host/x",
        "https://verysecretvalue99@x@host/x": "https://…@host/x",
        "see https://u:p@q@host and me@host": "see https://…@host and me@host",
        "['https://u:p@q@host','me@host']": "['https://…@host','me@host']",
    }.items():
        assert secrets.hidden_text(text) == wanted


def test_blanks_around_a_colon_hide_nothing_of_what_it_gives() -> None:
    for words in (("api_key", ":", "x"), ("api_key:", "x"), ("api_key", ":x")):
        assert "x" not in "".join(secrets.hidden_words(words)), words
    assert secrets.hidden_words(("lr", ":", "x", "a:", "b")) == ("lr", ":", "x", "a:", "b")


WORDS = "pwd jwt token tokens key secret credentials pass api access my input chosen Input Token Key KEY TOKEN MY image sort ssh _ - . --"
NAME = st.sampled_from(WORDS.split())
VALUE = st.text(alphabet="abfxXZ01289_-@/.[]<|`", max_size=24)


@given(st.lists(st.tuples(st.lists(NAME, min_size=1, max_size=5), st.sampled_from(("=", " ", ": ", '": "', " : ", "#", "?", "://")),
                          VALUE), min_size=60, max_size=60))  # fmt: skip
@settings(max_examples=30, deadline=None)
@pytest.mark.slow
def test_bash_says_of_any_names_and_values_what_python_says(made: list[tuple[list[str], str, str]]) -> None:
    texts = ["".join(names) + sign + value for names, sign, value in made]
    said = in_bash(texts, "C.UTF-8")
    wanted = ["secret" if secrets.looks_secret(text) else "none" for text in texts]
    assert [text for text, one, other in zip(texts, said, wanted, strict=True) if one != other] == []
