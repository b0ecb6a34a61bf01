"""What a secret is, once for the app and for exported scripts: extended regular expressions that `re` and bash both read.

`<NAME>` stands for another entry of WORDS. Classes are POSIX's (`[:space:]`); those after CASED are matched in lower case.
Names come from the providers' public documentation: W&B (WANDB_API_KEY; keys `wandb_v1_…` of 86 characters since wandb
0.22.3), Hugging Face (HF_TOKEN, `hub_token`, `hf_…`, `api_org_…`), GitHub and GitLab ("authentication token formats":
`ghp_` `gho_` `ghu_` `ghs_` `ghr_` `github_pat_`, `glpat-`), AWS (`AKIA…`, temporary `ASIA…`, signed URLs), Azure (`sig=`,
AccountKey), Google (`AIza…`, `ya29.`), Slack (its webhooks too), Stripe, npm, PyPI, Replicate, Groq, NVIDIA, xAI (`xai-`),
SendGrid (`SG.`), DigitalOcean (`dop_v1_`), Telegram (`bot123456:AA…`), the webhooks of Discord and Feishu, Sentry's DSN, RFC 7235
(Authorization), RFC 6750 (Bearer, `access_token`), RFC 3986 3.2.1 (userinfo) and RFC 7519 (a JWT's three parts).
"""

from __future__ import annotations


def _none_of(words: tuple[str, ...], ends: str, also: str) -> str:
    """A text's first characters where it is none of these words up to one of `ends`, and begins with none of `also`."""
    firsts = dict.fromkeys(word[0] for word in words)
    parts = [f"[^{ends}{''.join(firsts)}{also}]"]
    parts += [first + _rest(tuple(word[1:] for word in words if word[0] == first), ends) for first in firsts]
    return "|".join(parts)


def _rest(words: tuple[str, ...], ends: str) -> str:
    whole = "" in words
    longer = tuple(word for word in words if word)
    firsts = dict.fromkeys(word[0] for word in longer)
    parts = [f"[^{ends if whole else ''}{''.join(firsts)}]"]
    parts += [first + _rest(tuple(word[1:] for word in longer if word[0] == first), ends) for first in firsts]
    return f"({'|'.join(parts)})" if len(parts) > 1 else parts[0]


_COPIES = (
    "(backup|bak|copy|old|new|prev(ious)?|next|current|prod(uction)?|dev(elopment)?|test(ing)?|stag(e|ing)|live|sandbox|primary"
    "|secondary|main|alt|default|fallback|extra|spare|local|remote|read(only)?|write|ro|rw|user|admin|bot|team|org|group|personal"
    "|private|research|work|home|shared|ci|first|second|one|two|base|value|raw|plain|cn|us|eu|[a-d]|v[0123456789]+)"
)
"""Behind a secret's name these make one more of the same; `api_key_env`, `password_file` and `token_type` are none."""

_ABOUT = ("BITS", "BUDGET", "CLASS", "COUNT", "DIR", "ENV", "EXPIRY", "FILE", "FORMAT", "FRAMES", "HASH", "HEADER", "HOST", "ID", "INDEX",
          "KIND", "LENGTH", "LIMIT", "MAX", "METHOD", "MIN", "MODE", "NAME", "PATH", "PORT", "PREFIX", "REQUIRED", "ROLE", "SCOPE", "SIZE",
          "SOURCE", "SPLIT", "STORE", "SUFFIX", "TIMEOUT", "TTL", "TYPE", "URL", "VAR", "VERSION")  # fmt: skip
"""What says something about a secret and holds none: `HF_TOKEN_PATH`."""


def _names(about: tuple[str, ...]) -> str:
    """A word of capitals and digits that begins like none of these, by two letters; so a person's, a team's or a place's name."""
    every = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    seconds: dict[str, str] = {}
    for word in about:
        seconds[word[0]] = seconds.get(word[0], "") + word[1]
    parts = ["".join(c for c in every if c not in seconds)]
    parts = [f"[{parts[0]}]", *(f"{c}[{''.join(x for x in every if x not in no)}]" for c, no in seconds.items())]
    return f"({'|'.join(parts)})[[:upper:][:digit:]]*"


_ENDS = r"""]["'\\[:space:],;&)}"""
COLUMNS = (
    "action answer assistant audio caption category chosen column completion content context conversation conversations "
    "data_source dataset document feature group history human idx image images index input instruction json label mask "
    "message messages meta metric name output pixel preference prompt query question reasoning reference rejected response "
    "reward reward_fn sample score solution sort source speech system target text texts tools truth video videos"
)
"""Before `key` they say which column of a data set is meant: TRL, ms-swift, OpenRLHF, verl and Megatron name them so."""

_NOTHING = ("true", "false", "null", "none", *"0123456789")
"""What a field of a secret's name says where it has no secret: `use_auth_token=True`, `"hub_token": null`, `SINGLE_PASS=1`."""

PLACEHOLDER = (
    "(empty|dummy|placeholder|not[_-]?needed|no[_-]key[_-]required|(sk-|hf_)?xxx{1,10}"
    "|your[_-]((api|access|auth|secret|hf|openai|wandb)[_-])*(key|token|password|secret)([_-]here)?)"
)
"""What guides, and servers that ask for no key, write in its place, in any case: vLLM's `--api_key EMPTY`, `sk-xxx`."""
BEFORE = r"""[]["'\\[:space:]=:>]"""
AFTER = r"""(["'\\[:space:]]|[][,;&)}]+(["'\\[:space:]{]|[[:alpha:]_][[:alnum:]_.-]{0,40}=[^=[:space:]]))"""
"""What stands around a placeholder. With a `{` as its first character it is no secret to any rule.

A comma or a bracket ends one only where nothing follows but the next `name=value`, as in lm-eval's `api_key=EMPTY,model=m`:
`dummy,hunter2` is a password.
"""

_DIGIT_FIRST = "|".join(f"[[:digit:]]{{{n}}}[[:alpha:]][[:alnum:]]{{{12 - n}}}" for n in range(1, 13))
"""Thirteen letters and digits that begin with a digit and have a letter: `--train_tokens 1000000000000` is a number."""

_DIGIT_LAST = "|".join(
    (
        *(
            "[[:alpha:]]" + (f"[[:alnum:]]{{{n}}}" if n else "") + f"[[:digit:]][[:alnum:]]{{{10 - n}}}[[:digit:]]"
            for n in range(8)
        ),
        "[[:alpha:]]{9}("
        + "|".join(
            (
                "([[:alpha:]]{3}[[:digit:]]|[[:alpha:]]{2}[[:digit:]]{2}|[[:alpha:]][[:digit:]]{3})[^[:digit:]]",
                "([[:digit:]][[:alnum:]][[:alpha:]]|[[:digit:]][[:alpha:]][[:alnum:]]|[[:alpha:]][[:digit:]][[:alpha:]])[[:digit:]]",
                "[[:digit:]]{4}[[:alpha:]]",
                "([03456789][[:digit:]]|1[012345678]|2[123456789])[[:digit:]]{2}[^[:digit:]]",
            )
        )
        + ")",
    )
)
"""Thirteen that begin with a letter and end with a digit, unless nine letters or more stand before a year, 19xx or 20xx, and
the word's end: `--input_key conversations2024` names a column. Either a digit is among the first nine, or what follows them
is no such year."""

WORDS = {
    "slashes": ":/?/",
    "close": r"""[]["'\\[:space:]]*""",
    "open": r"""[]["'\\[:space:]=:>]*""",
    # `<|im_end|>` and `<your token>` are none
    "begun": _none_of(_NOTHING, _ENDS, "{=$<./~-") + "|[$][^({[:space:]]",
    "value": "(<begun>|[./~-])",
    # what may be a file's path is none: GOOGLE_APPLICATION_CREDENTIALS=/k.json, PWD=/x
    "nofile": "(<begun>|-)",
    "word": "(<begun>|[./~]|-[^-[:space:]])",
    # a password may be a number, a token is none: PAD_TOKEN=151643, -100, 4_096, 4k, 1e6, 2**20; nor is [PAD] or |pad| one
    "speech": "("
    + _none_of(_NOTHING[:4], _ENDS, "{=$<|`+[:digit:]-")
    + f"|[+-][^{_ENDS}+[:digit:]-]|[+-]?[[:digit:]][[:digit:]_*]*([^{_ENDS}[:digit:]._*kKmMbBgGtTeE]|[kKmMbBgGtT][^{_ENDS}]"
    f"|[eE]([^{_ENDS}[:digit:]+-]|[+-]?[[:digit:]]+[^{_ENDS}[:digit:]]))"
    "|\\[([\"'\\\\]|[[:alnum:]_-]+[^][:alnum:]_-]|[[:alnum:]_-]{17})|[$][^({[:space:]])",
    "quotes": r"""["'\\[:space:]=:>]*""",
    # HF_TOKEN_2, PASSWORD2, API_KEY_BACKUP
    "again": f"[[:digit:]]*([_.-]([[:digit:]]+|{_COPIES}))*",
    "AGAIN": f"[[:digit:]]*(_([[:digit:]]+|{_COPIES.upper()}))*",
    # names of services whose keys, tokens and passwords are nothing else
    "NAMES": f"(_({_names(_ABOUT)}|{_COPIES.upper()}))+",
    "service": "(github|gitlab|gitee|bitbucket|hugging_?face(_?hub)?|modelscope|swanlab|wandb|comet|neptune|clearml|mlflow"
    "|databricks|dagshub|kaggle|openai|anthropic|dashscope|openrouter|replicate|runpod|langsmith|langfuse|slack|telegram"
    "|discord|dingtalk|feishu|stripe|sentry|datadog|docker|registry|pypi|vault|azure|aliyun|redis(cli)?|mongo(db)?|postgres|mysql"
    "|smtp|proxy|admin|root)",
    # a company's name is a model's too: `qwen_token=<|im_end|>` is none
    "model": "(deepseek|gemini|google|mistral|moonshot|groq|cohere|zhipu|qwen|tavily|serpapi|pinecone)",
    # these are a word's end too (`github`), so something else must stand before them
    "short": "((hf|hub|gh|gl|git|ms|db|bot|aws|gcp|npm|pg)[_.-]?(token|pat|auth|dsn|pwd|pw|pass)|(hf|gh|aws|gcp)[_.-]?(keys?|tokens))",
    "long": "((api|access|auth|private|secret|account|encryption|signing|<service>|<model>)[_.-]?keys?"
    "|(auth|access|api|refresh|session|bearer|secret|personal|private|security|deploy|login|jwt|<service>)[_.-]?token"
    "|<service>[_.-](tokens|pat|auth|dsn|secret|pass|pwd|pw|cookie)|(client|app)[_.-]?secret|secret[_.-]?id|[_.-]dsn|authorization)",
    "doubt": "(key|tokens?|pat|auth|cookie|cert|pass|credentials?)",
    "plain": "pass(word|wd|phrase|code)s?",
    # these too are secrets wherever they end a name: `MYSQL_PWD`, `awsCredentials`; but their value may be a file
    "filed": "(pwd|jwt|credentials?|(user|login|ssh|smtp|mail|ftp|sudo|http)[_.-]?pass"
    "|(ssh|deploy|master|license|subscription)[_.-]?keys?)",
    # thirteen letters and digits in a row, not digits alone, with a digit at an end of them, or the beginning of a UUID
    "shape": f"[[:alnum:]_-]*({_DIGIT_FIRST}|[[:alpha:]][[:alnum:]]{{11}}[[:digit:]]|[[:xdigit:]]{{8}}-[[:xdigit:]]{{4}}-)",
    # the same behind a doubtful name, which may be a column's: `--input_key conversations2024`
    "coded": f"[[:alnum:]_-]*({_DIGIT_FIRST}|{_DIGIT_LAST}|[[:xdigit:]]{{8}}-[[:xdigit:]]{{4}}-)",
    # no word and no number: five times some letters and digits in turn, a hash, a UUID
    "dense": "[[:alnum:]_-]*(([[:alpha:]]{1,4}[[:digit:]]{1,6}){5}|[[:xdigit:]]{32}|[[:xdigit:]]{8}-[[:xdigit:]]{4}-)",
    # the same where capitals tell the words of a name: four times a small letter or two and what is none
    "mixed": "[[:alnum:]_-]*([[:lower:]]{1,2}[_-]?([[:upper:]][[:upper:][:digit:]]{0,3}|[[:digit:]][[:upper:][:digit:]]{0,3})[_-]?){4}",
    "flag": """(^|["'=[:space:]])""",
}
"""Parts of the rules. `close` and `open` are the quotes and brackets around the sign between a name and its value."""

LOOKS = (
    r"hf_[[:alnum:]]{20,}|api_org_[[:alnum:]]{20,}|wandb_v1_[[:alnum:]_-]{20,}|<edge>sk-[[:alnum:]_-]{20,}|[sr]k_(live|test)_[[:alnum:]]{20,}"
    r"|gh[pousr]_[[:alnum:]]{20,}|github_pat_[[:alnum:]_]{20,}|glpat-[[:alnum:]_-]{20,}|A[KS]IA[[:digit:][:upper:]]{16}"
    r"|xox[abeprs]-[[:alnum:]_-]{10,}|AIza[[:alnum:]_-]{35}|npm_[[:alnum:]]{36}|pypi-[[:alnum:]_-]{40,}|<edge>r8_[[:alnum:]]{30,}"
    r"|<edge>gsk_[[:alnum:]]{30,}|nvapi-[[:alnum:]_-]{30,}|<start>eyJ[[:alnum:]_-]{10,}[.]eyJ[[:alnum:]_-]{10,}[.][[:alnum:]_-]+"
    r"|hooks[.]slack[.]com/(services|workflows|triggers)/[[:alnum:]_/-]{16,}|discord(app)?[.]com/api/webhooks/[[:digit:]]+/[[:alnum:]_-]{20,}"
    r"|open[.](feishu|larksuite)[.](cn|com)/open-apis/bot/v2/hook/[[:alnum:]-]{16,}|<edge>xai-[[:alnum:]]{30,}"
    r"|<edge>SG[.][[:alnum:]_-]{16,}[.][[:alnum:]_-]{16,}|<edge>ya29[.][[:alnum:]_-]{20,}|<edge>do[opr]_v1_[[:xdigit:]]{30,}"
    r"|bot[[:digit:]]{6,}:[[:alnum:]_-]{30,}|<edge>[[:digit:]]{8,10}:AA[[:alnum:]_-]{30,}|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
)
"""Forms of well-known keys, as they are written."""

_MORE = """(@[^/[:space:]"'@]*)*"""
URL = (
    r"""[^/[:space:]:"]*:([^/[:space:]@"]+|@[^/[:space:]"'@]+)"""
    + _MORE  # user:password
    + r'|[^]/[:space:]:@"[]*:[^/[:space:]@"]*[^/[:space:]@"[:digit:]][^/[:space:]@"]*/([^[:space:]@":]|:[^/[:space:]@"])*'
    + _MORE  # with a /
)
"""Between `://`, or `:/` where a URL was taken for a path, and the last `@` before a slash, a blank or a quote: a user and a
password, which may hold an `@` too. Digits and a slash behind the colon are a port."""
URL_USER = (
    r"(https?|wss?|rediss?|grpcs?|ftps?)<slashes>"
    r'([^/[:space:]:@"]{16,}|[^/[:space:]:@"]{0,14}[[:digit:]][[:alpha:]][^/[:space:]:@"]{0,14})' + _MORE + "@"
)
"""A user that is none: sixteen characters, or a digit before a letter. `git@`, `me@` and `john2@` are users."""

CASED = (
    # HF_TOKEN_ALICE, DB_PASSWORD_BERLIN
    (
        "((API|ACCESS|AUTH|PRIVATE|SECRET)_?KEY|(HF|HUB|GH|GITHUB|GITLAB|WANDB|BOT|SLACK|AUTH|ACCESS|API)_?TOKEN|PASS(WORD|WD|PHRASE))"
        "<NAMES>(=|[\"'\\\\]+[[:space:]]*:)<open><value>"
    ),
    (
        "(^|[^[:alnum:]])(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRETS?(_[[:upper:][:digit:]_]+)?|PASSWD|PASSPHRASE"
        "|PW)<AGAIN>(=|[\"'\\\\]+[[:space:]]*:)<open><value>"
    ),
    "(^|[^[:alnum:]])TOKEN<AGAIN>(=|[\"'\\\\]+[[:space:]]*:)<quotes><speech>",
    "([[:upper:][:digit:]]_PASS|(SSH|PG|DB|MYSQL|REDIS|MAIL|SMTP|FTP|SUDO|ROOT|ADMIN|USER)PASS)<AGAIN>=<open><value>",
    # TOKEN : x; a sentence has no word in capitals before its colon, and PAD_TOKEN: x is none
    "(^|[^[:alnum:]_.-])TOKEN<AGAIN>[[:space:]]*:<quotes><speech>",
    # my_key=Zx9_kLmQ-pR2tUvW, --myToken Zx9_kLmQ-pR2tUvW
    "([Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]|[Aa][Uu][Tt][Hh]|[Cc][Oo][Oo][Kk][Ii][Ee])<again>(<close>[=:]<open>|[\"']*[[:space:]]+[\"']*)<mixed>",
)
"""A variable's name in capitals: there `MY_TOKEN=x` is a secret, where `max_token=5` is a trainer's setting."""

RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    # api_key=x, "hub_token": "x", Authorization: Bearer x
    ("(<long>|(^|[^[:alnum:]])<short>)<again><close>[=:]<open><value>", ("=", ":")),
    # password=x and "secret": "x"; what a sentence says behind a colon is none
    ("((<plain>|secret)<again>)(<close>=|[\"'\\\\]<close>:)<open><value>", ("pass", "secret")),
    ("(^|[][{(,][[:space:]]*|[_.-])(<plain>|secret)<again>[[:space:]]*:<open><value>", ("pass", "secret")),
    # token=x, {"token": "x"}, which `max_token=x` is not; nor is a special token
    ("(^|[^[:alnum:]_.-])token<again>(<close>=|[\"'\\\\]<close>:)<quotes><speech>", ("token",)),
    # credentials=x, "jwt": "x", mysql_pwd=x
    ("(<filed>|(^|[^[:alnum:]])pw)<again>(<close>=|[\"'\\\\]<close>:)<open><nofile>", ("pw", "credential", "key", "jwt", "pass")),
    ("<flag>-[[:alnum:]_.-]*(<filed>|[_.-]pw)<again>[\"'\\\\]*(=|[[:space:]]+)[\"'\\\\]*<nofile>",
     ("pw", "credential", "key", "jwt", "pass")),
    # --hub_token x, --token=x
    (("<flag>(-[[:alnum:]_.-]*(<long>|<plain>|secret)<again>|-[[:alnum:]_.-]*[_.-]<short><again>"
     "|--?(token<again>|<short><again>|signature))"
     "[\"'\\\\]*(=|[[:space:]]+)[\"'\\\\]*<word>"), ("-",)),
    # FOO_KEY=x and --foo_token x where x looks like one
    # HF_TOKEN_ALICE=x and --api_key_of_alice x, likewise
    ("(<long>|<plain>|(^|[^[:alnum:]])<short>)[_.-][[:alnum:]_.-]*<close>[=:]<open><shape>", ("=", ":")),
    ("<flag>-[[:alnum:]_.-]*(<long>|<plain>|[_.-]<short>)[_.-][[:alnum:]_.-]*[\"']*[[:space:]]+[\"']*<shape>", ("-",)),
    ("([_.?&\"'{-]<doubt>|[[:alnum:]]key|tokens?|auth|cookie)<again><close>[=:]<open><coded>", ("=", ":")),
    ("k[eE]y<again>(<close>[=:]<open>|[\"']*[[:space:]]+[\"']*)<dense>", ("key",)),
    ("<flag>-[[:alnum:]_.-]*([_.-]<doubt>|key|tokens?|auth|cookie)<again>[\"']*[[:space:]]+[\"']*<coded>", ("-",)),
    # https://h/x?token=x, a signed URL
    ("[?&#]([[:alnum:]_-]{0,20}(token|signature|credential)|sig|auth|pwd)=<value>", ("?", "&", "#")),
    # the same without its address
    ("(^|[^[:alnum:]_.-]|-)sig(nature)?=<shape>", ("sig",)),
    ("bearer[[:space:]]+[[:alnum:]._~+/=-]{16}", ("bearer",)),
)  # fmt: skip
"""In lower case: a name, a sign and a value; and texts of which one is in all that the rule finds."""

HINTS = ("key", "token", "pass", "secret", "bearer", "authorization", "dsn", "credential", "signature", "sig=", "auth", "pw",
         "_pat", "-pat", ".pat", "cookie", "cert", "jwt")  # fmt: skip
"""One of them is in every text that RULES or CASED find: without any, nothing is compiled."""
LOOK_HINTS = ("hf_", "api_org_", "wandb_v1_", "sk-", "k_live_", "k_test_", "gsk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
              "github_pat_", "glpat-", "AKIA", "ASIA", "xox", "AIza", "npm_", "pypi-", "r8_", "nvapi-", "eyJ", "-----BEGIN",
              "hooks.slack.com", "/api/webhooks/", "/bot/v2/hook/", "xai-", "SG.", "ya29.", "_v1_", "bot", ":AA")  # fmt: skip
"""One of them is in every text that LOOKS find."""


def named_columns(text: str) -> str:
    """A text in lower case whose names of data columns end with `kEy`: of RULES one alone takes that for a key."""
    if "key" in text:
        for word in COLUMNS.split():
            for sign in ("", "_", "-", "."):
                text = text.replace(f"{word}{sign}key", f"{word}{sign}kEy")
    return text


def filled(rule: str, **names: str) -> str:
    """A rule with its parts put in; `names` replace parts of that name, as `value="$value"` does for bash."""
    parts = {**WORDS, **names}
    while True:
        text = rule
        for name, part in parts.items():
            rule = rule.replace(f"<{name}>", part)
        if rule == text:
            return rule
