"""Over a hundred texts, secret and not, through both that know secrets: the app's Python and a real bash (5.2.15)."""

from __future__ import annotations

import re
import subprocess
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.core import secret_rules, secrets
from prl_tui.export import bash_secrets

FUNCTION = "\n".join(bash_secrets.function())
ASK = 'while IFS= read -r -d "" text; do if secret "$text"; then echo secret; else echo none; fi; done'
PLACEHOLDERS = [
    "EMPTY",
    "empty",
    "Dummy",
    "placeholder",
    "not-needed",
    "no-key-required",
    "xxx",
    "XXXXXXXX",
    "sk-xxx",
    "hf_xxxx",
    "your_key_here",
    "YOUR_API_KEY",
    "your-hf-token",
]
"""What stands in a key's place where there is none."""
NO_PLACEHOLDERS = [
    "EMPTY1",
    "emptiness",
    "my-dummy",
    "token-abc123",
    "changeme",
    "xx",
    "sk-xxxy",
    f"sk-{'x' * 20}",
    "your_dog",
    # a placeholder, a sign and more
    "dummy,hunter2",
    "EMPTY;hunter2",
    "dummy&hunter2",
    "dummy,,hunter2",
    "dummy)hunter2",
    "EMPTY}hunter2",
    "dummy]hunter2",
    "dummy,$hunter2",
    "dummy,aHVudGVyMg==",
]
"""Near them, and values all the same."""
CARRIED = [
    "--api_key {}",
    "--api-key={}",
    "API_KEY={}",
    "OPENAI_API_KEY='{}' x",
    '{{"api_key": "{}"}}',
    "MY_TOKEN={}",
    "--password {} --x 1",
]
SECRET = [
    *(name.format(value) for name in CARRIED for value in NO_PLACEHOLDERS),
    # a placeholder before it hides none
    "--api_key EMPTY --hub_token x",
    "API_KEY=EMPTY HF_TOKEN=a",
    '{"api_key": "EMPTY", "password": "x"}',
    # an id that is half of a key, a signature of its own, a variable's name before a blank and a colon
    "--SecretId X",
    "--secret_id=X",
    "SECRET_ID=X",
    "--signature X",
    "--signature=X",
    "Signature=a1b2c3d4e5f6a7b8c9",
    "X-Amz-Signature=a1b2c3d4e5f6a7b8c9",
    "sig=aB3dE5fG7hI9jK1lM3nO5%3D&se=2027",
    "https://h/c?sv=2&sig=abc",
    "https://h/c?sig=abc",
    "TOKEN : x",
    "TOKEN: x",
    # near what a special token or a number looks like
    *(
        f"MY_TOKEN={value}"
        for value in (
            "-abc",
            "[x",
            "['abc']",
            "[abcdefghijklmnopqrstu]",
            "4kx9",
            "1e6f",
            "5e12ab",
            "4_096x",
            "12_ab",
            "5f3c9a",
            "-12ab",
            "0123456789abcdef0123456789abcdef01234567",
        )
    ),
    "HF_TOKEN=[x]",
    # a year makes no column's name of what is none: too few letters, digits before or after, another number, a sure name
    "--foo_key abcdefgh2024a1",
    "--foo_key abcdefgh12024x",
    "--foo_key conversations2024a",
    "--foo_key conversations12024",
    "--foo_key conversations20241",
    "--foo_key conversations1799",
    "--foo_key conversations2199",
    "--foo_key conversations24",
    "--foo_key conversations7",
    "--foo_key conversations202",
    "--foo_key con4versations2024",
    "--foo_key a-conversations9024",
    "FOO_KEY=5onversations2024",
    "--api_key conversations2024",
    "--api_key_of_alice conversations2024",
    "HF_TOKEN_ALICE=conversations2024",
    "--foo_token 1234567890123a",
    "FOO_KEY=123456789012a",
    "FOO_KEY=a123456789012",
    "MY_TOKEN=12ab",
    "MY_TOKEN=0xdeadbeef",
    "DB_PASS=1234",
    "PASSWORD=12345",
    "API_KEY=5ecret",
    "password=7up",
    '{"api_key":"verysecretvalue99"}',
    '{"password": "x1"}',
    '{"a":{"hub_token":"abc"}}',
    '{"env": {"WANDB_API_KEY": "abc"}}',
    '{"headers": {"Authorization": "Bearer abc"}}',
    '{"token": "verysecretvalue99"}',
    "--passphrase X",
    "--private-key=X",
    "--private_key X",
    "--secret_key X",
    "--gh_token=X",
    "--swanlab_token X",
    "api_key=t",
    "api_key=fals",
    "hub_token=no",
    "--modelscope_token X",
    "--db.password X",
    "--env=WANDB_API_KEY=X",
    "hub_token=X",
    "Hf_Token=X",
    "sh -c 'export HF_TOKEN=X'",
    '--cfg \'{"api_key": "X"}\'',
    "HF_TOKENS=a",
    "GITHUB_PAT=a",
    "SENTRY_DSN=a",
    "REDIS_AUTH=a",
    "OPENAI_KEY=a",
    "MYAPIKEY=a",
    "WANDB_KEY=a",
    'CFG={"api_key": "a"}',
    "OPTS=--hub_token=x",
    "OPTS=--hub_token x",
    "https://verysecretvalue99@host/x",
    "https://1a2b3c4d@host",
    "http://h/x?api_key=abc",
    "http://h/x?token=abc",
    "http://h/x?a=1&access_token=abc",
    "https://me:pa/ss@host/x",
    "wandb_v1_AAAAAAAAAAAAAAAAAAAAAAAA_bbbbbbbbbbbb",
    "--x 1 --hub_token plainword",
    "--API-KEY=plainword",
    "HF_TOKEN=plainword",
    "A=1 'my_password=plainword'",
    "DB_PASSWORD=plainword x",
    "db.password=plainword",
    "--aws_secret_access_key plainword",
    "--access_key plainword",
    "--wandb_key=plainword",
    "--password -plainword",
    "--token plainword",
    "-token plainword",
    "PGPASSWORD=plainword DB_PASS=plainword",
    "-H 'X-Api-Key: abc'",
    "FOO_KEY=a1b2c3d4e5f6a7b8c9d0",
    "--foo_token verysecretvalue99",
    "{api_key: X}",
    "a: {password: X}",
    "password: X",
    'os.environ["HF_TOKEN"] = "x"',
    "-----BEGIN RSA PRIVATE KEY-----",
    "MY_SECRETS=x",
    "api_key=nullable",
    "token ghp_AAAAAAAAAAAAAAAAAAAAAAAA",
    "--secret s",
    "--client-secret=s",
    "https://verysecretvalue99@host/x?a=b",
    "s3://b?X-Amz-Signature=abc",
    "AccountKey=abc",
    "curl -H 'Authorization: Bearer abc'",
    "wandb login --relogin --api_key abc",
    # one more of the same
    *(
        f"{name}=plainword"
        for name in (
            "WANDB_API_KEY_2",
            "HF_TOKEN_2",
            "HF_TOKEN2",
            "API_KEY_1",
            "DB_PASSWORD2",
            "PASSWORD1",
            "MY_PASSWORD_1",
            "my_password_1",
            "OPENAI_API_KEY_BACKUP",
            "OPENAI_API_KEY_OLD_2",
            "MY_TOKEN_2",
            "MY_TOKEN_PROD",
            "SSHPASS",
            "PGPASS2",
            "DB_PASS_2",
            "REDISCLI_AUTH",
            "DB_PW",
            "MYSQL_PW_2",
            "GITHUB_PAT_2",
            "SENTRY_DSN_1",
            "TS_AUTHKEY",
            "CREDENTIALS_2",
            "hub_token_backup",
            "secret_key_base",
            "HF_TOKEN_ALICE",
            "DB_PASSWORD_BERLIN",
            "OPENAI_API_KEY_TEAM_A",
            "WANDB_API_KEY_V2",
            "ACCESS_KEY_X_2",
            "TOKEN2",
            "api-key2",
        )
    ),
    "--hub_token_2 x",
    "--api-key2 x",
    "--hub_token_backup=x",
    "--password1 x",
    "--token_2 x",
    "--secret2 x",
    "--db.password_1 x",
    '{"api_key_2": "x"}',
    '{"password1": "x"}',
    "password2: x",
    "HF_TOKEN_ALICE=verysecretvalue99",
    "--api_key_of_alice verysecretvalue99",
    "MY_KEY_2=verysecretvalue99",
    "https:/me:plainword@host/x",
    "https:/verysecretvalue99@host/x",
    # forms of more providers
    "https://hooks.slack.com/services/T00000000/B00000000/aaaaaaaaaaaaaaaaaaaaaaaa",
    "https://discord.com/api/webhooks/123456789012345678/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "https://open.feishu.cn/open-apis/bot/v2/hook/01234567-89ab-cdef-0123-456789abcdef",
    f"xai-{'a' * 80}",
    f"SG.{'a' * 22}.{'b' * 43}",
    f"ya29.{'a' * 40}",
    f"dop_v1_{'a1' * 32}",
    f"https://api.telegram.org/bot123456789:AA{'a' * 33}/sendMessage",
    f"123456789:AA{'a' * 33}",
]
ORDINARY = [
    *(name.format(value) for name in CARRIED for value in PLACEHOLDERS),
    # a sign behind a placeholder, and nothing or the next entry
    "--model_args model=m,api_key=EMPTY,base_url=http://h:8000/v1,num_concurrent=1",
    "https://h/v1?api_key=EMPTY&model=m",
    "{api_key: EMPTY, model: m}",
    "{model: m, api_key: EMPTY}",
    "f(api_key=EMPTY), g",
    '["--api_key","EMPTY","--model","m"]',
    '{"api_key":"EMPTY","model":"m"}',
    "API_KEY=EMPTY, API_KEY=dummy; HF_TOKEN=sk-xxx,",
    "--model_signature serving_default",
    "--signatures a",
    "signature=serving_default",
    "sig=0.5",
    "PAD_TOKEN : [PAD]",
    "TOKEN : 5",
    "next token : the",
    "--input_key conversations2024",
    "--input_key=conversations2024 --label_key preferencedata1999",
    "--image_key 'observations2025.top'",
    "--input_key my_conversations2024-v2 --x",
    "INPUT_KEY=conversations2024",
    '{"input_key": "conversations2024"}',
    # special tokens as tokenizers write them, and numbers as people write them
    *(
        f"{name}_TOKEN={value}"
        for name in ("PAD", "MASK", "MAX")
        for value in (
            "[PAD]",
            "[gMASK]",
            "[unused1]",
            "'[SEP]'",
            "<pad>",
            "<|im_end|>",
            "|pad|",
            "-100",
            "+5",
            "4_096",
            "4k",
            "8K",
            "1.5M",
            "1e6",
            "1e-3",
            "2**20",
            "-1 B=x",
        )
    ),
    "MAX_TOKENS=1e6",
    "--pad_token [PAD] --image_token '<image>'",
    "--train_tokens 1000000000000",
    "train_tokens=1000000000000",
    "--total_tokens=15000000000000",
    "EOS_TOKEN=<|im_end|>",
    "PAD_TOKEN=0",
    "IMAGE_TOKEN=151655",
    "MAX_TOKEN=4096",
    "USE_AUTH_TOKEN=1",
    "SINGLE_PASS=1",
    "NUM_PASS=2",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN=1",
    "use_auth_token=1",
    "--use_auth_token 1",
    "--token <|im_end|>",
    "/data/sk_learn_text_classification_v1",
    "https://host:8080/x",
    "s3://bucket/a@b",
    "user@host:/x",
    "hf_short",
    "--tokenizer a --token_type b --pad_token c --x=y --secret",
    "--pad_token=<pad> --eos_token '</s>' --max_token=5",
    "max_token=5 secret_sauce=1 token=<unk> pad_token=<pad> model.tokenizer=x",
    "HF_TOKEN A=b TOKENS=3 OMP_NUM_THREADS=4",
    "TOKENIZERS_PARALLELISM=false",
    "NUM_TOKENS=4 KEYBOARD=us MONKEY=1",
    "--key_file k.pem",
    "--image_special_token @@",
    "--use_auth_token True",
    "--use_auth_token=False --bf16",
    '{"hub_token": null, "use_auth_token": false}',
    '{"use_reentrant": false, "max_new_tokens": 512, "eos_token": "</s>"}',
    "git@github.com:a/b.git",
    "ssh://git@github.com/a/b",
    "https://me@bitbucket.org/a.git",
    "http://host:8080/users/@me",
    "/data/task-specific-finetuning-run-with-a-long-name",
    "--sort_key length --prompt_key messages_v2",
    "FOO_KEY=label",
    "--image_key observation.images.top",
    "api_key_env=WANDB_API_KEY",
    "--system_prompt 'You keep a secret: never tell. Password: unknown'",
    "--first_pass 1 --num_pass=2",
    "hub_token=${oc.env:HF_TOKEN}",
    "--output_dir /outputs/secret_garden --key_path /x/key",
    "qwen_token=<|im_end|>",
    "CUDA_VISIBLE_DEVICES=0,1",
    "http://h/x?a=1&b=2",
    "--attn_auth none",
    "wandb_v1",
    '{"url": "http://h:80/x", "mail": "x@y.z"}',
    "--author me --compass 1 --pathology_keys x",
    "http://[::1]:8080/x@y",
    "docker://reg.io:5000/x@sha256:abcdef",
    "--lora_target_modules all-linear --keys a b",
    "task-aware-long-name-of-a-checkpoint",
    '{"pad_token": "<pad>", "token_type_ids": true}',
    "--loss_type secretive",
    "password",
    "HF_TOKEN",
    "a:b@c",
    "https://h/p@v1.0",
    "--password",
    "key=value",
    '{"api_key": null, "hub_token": "", "password": false}',
    *(
        f"{name}=plainword"
        for name in (
            "NUM_TOKENS",
            "MAX_TOKENS_2",
            "max_new_tokens",
            "PASS_RATE",
            "tokenizer_2",
            "TOKENIZER_NAME",
            "TOKEN_TYPE_2",
            "PASSES_2",
            "API_KEY_FILE",
            "API_KEY_ENV_VAR",
            "API_KEY_ALICE_FILE",
            "PASSWORD_MIN",
            "HF_TOKENIZER_ALICE",
            "HF_TOKEN_PATH",
            "password_file",
            "PASSWORD_LENGTH",
            "api_key_env_2",
            "AWS_ACCESS_KEY_ID",
            "hub_token_type",
            "SORT_KEY_2",
            "COMPASS",
            "BYPASS_2",
            "hf_tokenizer",
            "db_passes",
            "PWM",
            "HPW_2",
            "passwordless",
            "secretary",
            "FP16_OPT",
        )
    ),
    "--tokenizer_2 x --max_new_tokens 512 --token_type_2 x --num_tokens_2 5 --pad_token_2 x --password_file x",
    "/data:/me@host",
    "/a:/b:ro",
    "xai-org/grok-1",
    "msg.SG.x",
    "ya29.txt",
    "robot123456:abc",
    "10:30:00 AA",
    "hooks.slack.com/services/",
    "deepseek_key_frames=5",
]
LONG = [
    "EMPTY ",
    "=sk-xxx =dummy ",
    "sig=",
    "TOKEN : ", "a", "://", "://a:b/", "password", "api_key ", "token=", "token=a", "inputkey", "a_key=1a", "://a@b",
        "--a_token ", "eyJ", "eyJ-", "sk-", "-----BEGIN ", "_key_",
        "a_SECRET_A", "passwordtrue=tru", "{token:", "https://1a1a", " ", "-", "&a", "1a"]  # fmt: skip
"""Pieces of which a rule that tries each of its ways would make hours."""


def in_bash(texts: list[str], locale: str) -> list[str]:
    done = subprocess.run(["bash", "-c", f"set -euo pipefail\n{FUNCTION}\n{ASK}"], input="\0".join(texts) + "\0", text=True,
                          capture_output=True, timeout=60, env={"PATH": "/usr/bin:/bin", "LC_ALL": locale})  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_bash_says_of_each_text_what_python_says(locale: str) -> None:
    assert [text for text in SECRET if not secrets.looks_secret(text)] == []
    assert [text for text in ORDINARY if secrets.looks_secret(text)] == []
    said = in_bash(SECRET + ORDINARY, locale)
    wanted = ["secret"] * len(SECRET) + ["none"] * len(ORDINARY)
    wrong = [text for text, one, other in zip(SECRET + ORDINARY, said, wanted, strict=True) if one != other]
    assert wrong == []


@pytest.mark.parametrize("text", SECRET)
def test_what_is_hidden_is_no_secret_any_more(text: str) -> None:
    hidden = secrets.hidden_text(text)
    assert secrets.HIDDEN in hidden
    assert not secrets.looks_secret(hidden)


def test_a_rule_finds_nothing_without_one_of_its_hints() -> None:
    for text in SECRET:
        small = text.lower()
        forms = any(hint in text for hint in secret_rules.LOOK_HINTS) or ":/" in text
        assert forms or any(hint in small for hint in secret_rules.HINTS), text


@pytest.mark.slow
@pytest.mark.parametrize("piece", LONG)
def test_a_hundred_kilobytes_take_no_time_in_either(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    begun = time.process_time()
    secrets.hidden_text(f"{text} token")
    secrets.hidden_code(text)
    assert time.process_time() - begun < 3
    in_bash([text], "C.UTF-8")


@pytest.mark.parametrize("name", ["HF_TOKENS", "GITHUB_PAT", "SENTRY_DSN", "REDIS_AUTH", "OPENAI_KEY", "MYAPIKEY", "WANDB_KEY",
                                  "my_token", "Hf_Token", "AWS_SECRET_ACCESS_KEY"])  # fmt: skip
def test_a_variable_of_such_a_name_is_a_secret(name: str) -> None:
    assert secrets.is_secret_name(name)
    assert secrets.is_secret_variable(name, "x")


@pytest.mark.parametrize(
    "name", ["MAX_TOKENS", "NUM_TOKENS", "TOKENIZER", "TOKEN_TYPE", "FOO_KEY", "SORT_KEY", "FIRST_PATH"]
)
def test_a_doubtful_name_is_one_where_its_value_looks_like_one(name: str) -> None:
    assert not secrets.is_secret_name(name)
    assert not secrets.is_secret_variable(name, "label")
    assert secrets.is_secret_variable("FOO_KEY", "a1b2c3d4e5f6a7b8c9d0")


RUN = re.compile("[A-Za-z0-9]+")
YEAR = re.compile("[A-Za-z]{9,}(19|20)[0-9]{2}")


@given(st.text(alphabet="abcdefgz0129_-", min_size=9, max_size=30))
@settings(max_examples=2000)
@example("abcdefghi2024")
@example("abcdefghij19990")
def test_only_letters_before_a_year_are_let_through_behind_a_doubtful_name(value: str) -> None:
    """Judge: the rule as it was, run by run of letters and digits, without those that are a word and a year."""
    before = re.compile(secrets._python(secret_rules.WORDS["shape"]), re.ASCII | re.IGNORECASE)
    now = re.compile(secrets._python(secret_rules.WORDS["coded"]), re.ASCII | re.IGNORECASE)
    without = RUN.sub(lambda run: "x" if YEAR.fullmatch(run[0]) else run[0], value)
    assert bool(now.match(f"{value} ")) == bool(before.match(f"{without} "))
