"""Raw values (typed text, TOML, environment) to checked ones and back to the text that a program reads.

Numbers are plain ASCII decimals: `08`, `2abc`, `1_000`, full-width digits and `nan` are refused, here and in
every exported script alike.
"""

from __future__ import annotations

import json
import math
from itertools import islice
from typing import Any

from prl_tui.core import wordlist
from prl_tui.core.recipe import Field
from prl_tui.core.value import replace
from prl_tui.i18n import t
from prl_tui.lists import listed

_YES = {"true", "1", "yes", "on"}
_NO = {"false", "0", "no", "off"}


def parse(field: Field, raw: object, exact: bool = False) -> tuple[Any, str]:
    """`(value, problem)`: the value as its type, and one sentence when it is wrong ("" when it is right).

    A number outside its bounds is returned beside its problem, so that the arithmetic can still be shown. `exact`: as an
    exported script takes it, which strips no blanks and knows one word for yes and one for no.
    """
    if raw is None:
        return None, ""
    problem = _unsendable(field, raw)
    if problem:
        return None, problem
    if exact and isinstance(raw, str):
        if field.type in {"int", "float"} and raw != raw.strip():
            return None, _not_whole(field, raw) if field.type == "int" else _not_number(field, raw)
        if field.type == "bool" and raw not in field.words:
            return None, _neither(field, raw)
    return _PARSERS.get(field.type, _text)(field, raw)


def _unsendable(field: Field, raw: object) -> str:
    """Why no program can receive the value, or ""."""
    for item in raw if isinstance(raw, (list, tuple)) else (raw,):
        if isinstance(item, str) and "\x00" in item:
            return t("{key} contains a NUL character, which no program can receive.", key=field.key)
        if isinstance(item, str) and any("\ud800" <= c <= "\udfff" for c in item):
            return t("{key} contains bytes that are not UTF-8 text.", key=field.key)
    return ""


def decimal(value: float) -> str:
    """A float as people write it: `1e-6`."""
    return repr(value).replace("e-0", "e-").replace("e+0", "e+")


def show(field: Field, value: object) -> str:
    """The text that a form shows and a program reads; "" for a value that is not set."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return field.words[0] if value else field.words[1]
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, (list, tuple)):
        words = tuple(str(item) for item in value)
        return wordlist.join(words) if field.type in wordlist.FREE else wordlist.shown(words)
    return _as_toml(value) if isinstance(value, dict) or hasattr(value, "isoformat") else str(value)


def example(field: Field) -> str:
    """A value of this field that works."""
    bare = replace(field, default=None)
    if field.default is not None and not field.template and not parse(bare, field.default)[1]:
        return show(field, field.default)
    if field.choices:
        return field.choices[0]
    if field.type in {"int", "float"}:
        return _number_in(field)
    known = {
        "bool": field.words[0],
        "str": "name",
        "gpus": "0,1",
        "json": "{}",
        "arguments": "--epochs 1",
        "variables": "OMP_NUM_THREADS=4",
    }
    return known.get(field.type, f"./{field.key}")


def lone(field: Field, raw: object) -> Any:
    """The one item of a list, where a single value is wanted and that item is one; None otherwise. A text may be such a list."""
    if isinstance(raw, str) and raw.strip().startswith("["):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return None
    if field.type in wordlist.TYPES or not isinstance(raw, (list, tuple)) or len(raw) != 1:
        return None
    if not isinstance(raw[0], (str, int, float)):
        return None
    value, problem = parse(field, raw[0])
    return None if problem else value


def _works(field: Field, raw: object) -> str:
    """A value that would work in the place of a wrong one: the one that it holds, else an example."""
    held = lone(field, raw)
    return example(field) if held is None else show(field, held)


def _number_in(field: Field) -> str:
    """A number within a field's bounds, a plain one where there is one."""
    least, most = field.min, field.max
    near = [1, 0] if least is None else [math.ceil(least), least]
    near += [field.multiple, *(() if most is None else (math.floor(most), most))]
    near += [math.ceil((least or 0) / field.multiple) * field.multiple] if field.multiple > 1 else []
    return number(next((one for one in near if not _bounds(field, one)), near[0]))


def is_whole(text: str) -> bool:
    """A plain whole number in ASCII digits, at most fifteen of them, without a needless zero before it."""
    digits = text[1:] if text[:1] == "-" else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        return False
    return (digits == "0" and text == "0") or digits[0] != "0"


def is_decimal(text: str) -> bool:
    """A plain number in ASCII: digits, at most one point, at most one exponent, no needless zero before it."""
    base, mark, exponent = text.replace("E", "e").partition("e")
    if mark and not is_digits(exponent[1:] if exponent[:1] in {"+", "-"} else exponent):
        return False
    whole, point, part = (base[1:] if base[:1] == "-" else base).partition(".")
    if not (whole or part) or (point and part and not is_digits(part)):
        return False
    return not whole or (is_digits(whole) and (whole == "0" or whole[0] != "0"))


def is_digits(text: str) -> bool:
    """One ASCII digit or more."""
    return text.isascii() and text.isdigit()


def _int(field: Field, raw: object) -> tuple[Any, str]:
    if isinstance(raw, int) and not isinstance(raw, bool) and abs(raw) < 10**15:
        return raw, _bounds(field, raw)
    text = raw.strip() if isinstance(raw, str) else ""
    if is_whole(text):
        return int(text), _bounds(field, int(text))
    whole = text or (str(raw) if isinstance(raw, int) and not isinstance(raw, bool) else "")
    digits = whole.removeprefix("-")
    if is_digits(digits) and digits[0] != "0":
        return None, _too_far(field, raw, whole.startswith("-"))
    return None, _not_whole(field, raw)


def _not_whole(field: Field, raw: object) -> str:
    return t(
        "{key}: {value} is not a whole number; {example} would work.",
        key=field.key, value=quote(raw), example=_works(field, raw),
    )  # fmt: skip


def _too_far(field: Field, raw: object, below: bool) -> str:
    """A whole number of more than fifteen digits."""
    figures = {"key": field.key, "value": quote(raw)}
    if below:
        least = max(1 - 10**15, math.ceil(field.min) if field.min is not None else 1 - 10**15)
        return t("{key}: {value} is too small; {least} is the least that works.",
                 least=-(-least // field.multiple) * field.multiple, **figures)  # fmt: skip
    most = min(10**15 - 1, math.floor(field.max) if field.max is not None else 10**15 - 1)
    return t("{key}: {value} is too large; {most} is the greatest that works.",
             most=most // field.multiple * field.multiple, **figures)  # fmt: skip


def _float(field: Field, raw: object) -> tuple[Any, str]:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        try:
            finite = math.isfinite(raw)
        except OverflowError:  # an integer that no float can hold
            finite = False
        if not finite:
            return None, _not_number(field, raw)
        return raw, _bounds(field, raw)
    text = raw.strip() if isinstance(raw, str) else ""
    if not is_decimal(text):
        return None, _not_number(field, raw)
    if is_whole(text):
        return int(text), _bounds(field, int(text))
    value = float(text)
    if not math.isfinite(value):
        return None, _not_number(field, raw)
    return value, _bounds(field, value)


def _not_number(field: Field, raw: object) -> str:
    return t(
        "{key}: {value} is not a number; {example} would work.",
        key=field.key, value=quote(raw), example=_works(field, raw),
    )  # fmt: skip


def _bounds(field: Field, value: float) -> str:
    if field.min is not None and value < field.min:
        return t(
            "{key} must be at least {least}, not {value}.",
            key=field.key, least=number(field.min), value=number(value),
        )  # fmt: skip
    if field.max is not None and value > field.max:
        return t(
            "{key} must be at most {most}, not {value}.",
            key=field.key, most=number(field.max), value=number(value),
        )  # fmt: skip
    if field.multiple > 1 and value % field.multiple:
        near = number(max(1, round(value / field.multiple)) * field.multiple)
        return t(
            "{key} must be a multiple of {factor}, not {value}; {near} would work.",
            key=field.key, factor=field.multiple, value=number(value), near=near,
        )  # fmt: skip
    return ""


def _bool(field: Field, raw: object) -> tuple[Any, str]:
    text = str(raw).strip().lower()
    if isinstance(raw, bool) or text in _YES | _NO:
        return (raw if isinstance(raw, bool) else text in _YES), ""
    return None, _neither(field, raw)


def _neither(field: Field, raw: object) -> str:
    return t(
        "{key}: {value} is neither {yes} nor {no}.",
        key=field.key, value=quote(raw), yes=field.words[0], no=field.words[1],
    )  # fmt: skip


def _choice(field: Field, raw: object) -> tuple[Any, str]:
    text = show(field, raw) if not isinstance(raw, str) else raw
    if text in field.choices and not isinstance(raw, (list, tuple)):  # a list of one choice is none
        return text, ""
    return None, t(
        "{key}: {value} is not one of {choices}.",
        key=field.key, value=quote(raw), choices=listed(field.choices),
    )  # fmt: skip


def _list(field: Field, raw: object) -> tuple[Any, str]:
    if isinstance(raw, str):
        words, problem = wordlist.items(field, raw)
        return (words, problem) if words is None else _whole_items(field, words)
    items = raw if isinstance(raw, (list, tuple)) else (raw,)
    if not all(_is_word(item) for item in items):
        return None, _not_text(field, raw)
    return _whole_items(field, tuple(item if isinstance(item, str) else show(field, item) for item in items))


def _whole_items(field: Field, words: tuple[str, ...]) -> tuple[Any, str]:
    if "" in words:
        return None, t("{key}: an item is empty; {example} would work.", key=field.key, example=example(field))
    return words, ""


def _free(field: Field, raw: object) -> tuple[Any, str]:
    """Free arguments and variables: a text with a shell's quotes, a list, for variables a table; of texts and numbers."""
    if not isinstance(raw, str):
        named = dict(raw) if isinstance(raw, dict) and field.type == "variables" else None
        items = list(named.values()) if named is not None else raw if isinstance(raw, (list, tuple)) else [raw]
        if not all(_is_word(item) for item in items):  # which is not shown: a secret may be in it
            return None, t("{key} is not a list of texts; {example} would work.", key=field.key, example=example(field))
        words = [item if isinstance(item, str) else show(field, item) for item in items]
        raw = words if named is None else [f"{name}={word}" for name, word in zip(named, words, strict=True)]
    return (wordlist.arguments if field.type == "arguments" else wordlist.variables)(field, raw)


def _is_word(raw: object) -> bool:
    """A text, or a number that can stand for one; no table, list, date, or yes and no."""
    return isinstance(raw, (str, int, float)) and not isinstance(raw, bool)


def _not_text(field: Field, raw: object) -> str:
    figures = {"key": field.key, "value": quote(raw), "example": example(field)}
    if field.type == "list":
        return t("{key}: {value} is not a list of texts; {example} would work.", **figures)
    if isinstance(raw, (list, tuple)):
        words = [str(item) for item in raw if _is_word(item)]
        meant = _as_toml(",".join(words) if field.type == "gpus" else words[0]) if words else ""
        figures["example"] = meant if 0 < len(meant) <= 60 else figures["example"]
        return t("{key}: {value} is a list, and one text is needed; {example} would work.", **figures)
    return t("{key}: {value} is not a text; {example} would work.", **figures)


def _json(field: Field, raw: object) -> tuple[Any, str]:
    try:
        text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, TypeError, RecursionError):
        return None, t("{key}: {value} is not JSON; {example} would work.", key=field.key, value=quote(raw),
                       example=example(field))  # fmt: skip
    return text, ""


def _no_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are Python's, not JSON's


def _text(field: Field, raw: object) -> tuple[Any, str]:
    if not _is_word(raw):
        return None, _not_text(field, raw)
    return (raw if isinstance(raw, str) else show(field, raw)), ""


_PARSERS = {
    "int": _int, "float": _float, "bool": _bool, "choice": _choice, "list": _list, "json": _json,
    "arguments": _free, "variables": _free,
}  # fmt: skip


def number(value: float) -> str:
    """A number without a needless `.0`."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def quote(raw: object) -> str:
    """A value as a person typed it, between quotes, shortened."""
    return f"“{cut(typed(raw))}”"


def typed(raw: object) -> str:
    """A value as a person typed it: a text as it is, anything else as a file has it."""
    return raw if isinstance(raw, str) else _as_toml(raw)


def cut(text: str) -> str:
    """A text of a person's in a sentence: its beginning, where it is long. Half a secret is hidden as a whole one is."""
    if len(text) <= 60:
        return text
    from prl_tui.core import secrets

    text = secrets.forms_hidden(text)
    return text if len(text) <= 60 else text[:57] + "…"


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else _as_toml(key)


def _as_toml(raw: object) -> str:
    """A value as a file has it, as far as a sentence shows it."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, str):
        return json.dumps(raw[:80], ensure_ascii=False)
    if isinstance(raw, dict):
        inner = ", ".join(f"{_key(str(name))} = {_as_toml(one)}" for name, one in islice(raw.items(), 20))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(raw, (list, tuple)):
        return f"[{', '.join(_as_toml(one) for one in raw[:20])}]"
    if isinstance(raw, float):
        return decimal(raw)
    moment = getattr(raw, "isoformat", None)  # a date or a time; `datetime` is not imported for it
    return str(moment() if moment is not None else raw)
