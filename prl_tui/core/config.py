"""A run config: a recipe, its values, and where each value came from."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping
from typing import Any, cast

from prl_tui.core import values, wordlist
from prl_tui.core.recipe import Field, Recipe
from prl_tui.core.templates import PLACE
from prl_tui.core.value import Value, replace
from prl_tui.i18n import t


class Source(enum.IntEnum):
    """Where a value came from; a later one wins."""

    DEFAULT = 0
    PRESET = 1
    FILE = 2
    RUN = 3
    ENVIRONMENT = 4
    SET = 5
    FORM = 6
    FIX = 7

    @property
    def word(self) -> str:
        """The name in files and JSON."""
        return self.name.lower()


class Setting(Value):
    """One value with its origin."""

    value: Any
    """Checked, or None where it is not set or cannot be read."""
    text: str
    """What somebody typed, or the value as text."""
    source: Source
    origin: str = ""
    """The file, the run's id or the environment variable."""
    problem: str = ""
    """One sentence when the value is wrong."""
    secret: bool = False
    """What was given is a key, a token or a password: it is kept nowhere, and a sign stands in its place."""


class RunConfig(Value):
    """A recipe, its preset, and one setting for each of its fields. Never changed in place."""

    recipe: Recipe
    preset: str
    settings: Mapping[str, Setting]

    def value(self, key: str) -> Any:
        """The checked value of a field, with a template default resolved; None when it is not set."""
        setting = self.settings.get(key)
        if setting is None:
            return None
        if key in self.recipe.templated and self.follows(key):
            return values.parse(self.recipe.by_key[key], fill(setting.value, self))[0]
        return setting.value

    def follows(self, key: str) -> bool:
        """The field has a template default, and nobody set it: it follows the fields that the template names."""
        setting = self.settings[key]
        return key in self.recipe.templated and setting.source is Source.DEFAULT and isinstance(setting.value, str)

    def wrong(self, key: str) -> bool:
        """Something is wrong with a field's value, or with that of one which it follows: nothing may be said from it."""
        setting = self.settings.get(key)
        if setting is None:
            return False
        return bool(setting.problem) or (
            key in self.recipe.templated
            and self.follows(key)
            and any(self.wrong(named) for named in template_keys(setting.value))
        )

    def text(self, key: str) -> str:
        """The text of a field as a form shows it: what was typed, even where it is wrong."""
        setting = self.settings[key]
        field = self.recipe.by_key[key]
        typed = setting.problem and setting.value is None
        if typed or (field.type in {"int", "float"} and setting.value is not None and not self.follows(key)):
            return setting.text.strip() if not typed else setting.text
        return values.show(field, self.value(key))

    def number(self, key: str) -> int | None:
        """The value of a whole-number field, or None."""
        found = self.value(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def with_values(
        self, changes: Mapping[str, object], source: Source, origins: Mapping[str, str] | None = None
    ) -> RunConfig:
        """The config with these raw values laid over it; None unsets. KeyError for an unknown key."""
        settings = dict(self.settings)
        for key, raw in changes.items():
            field = self.recipe.by_key[key]
            settings[key] = _setting(field, raw, source, (origins or {}).get(key, ""))
        return replace(self, settings=settings)

    def baseline(self) -> RunConfig:
        """The preset as the recipe has it, without anybody's changes."""
        return resolve(self.recipe, self.preset)

    def changed(self) -> tuple[str, ...]:
        """The keys whose value differs from the preset's."""
        base = self.baseline()
        then = base.settings
        return tuple(key for key, now in self.settings.items() if now is not then[key] and self.differs(key, base))

    def differs(self, key: str, base: RunConfig) -> bool:
        """A field's value is another than the preset's, or than what it would be if it followed other fields there."""
        now, then = self.settings[key], base.settings[key]
        if now is then:
            return False
        if base.follows(key) and not self.follows(key) and not now.problem:
            return bool(now.value != values.parse(self.recipe.by_key[key], fill(then.value, self))[0])
        return (now.value, now.problem and now.text) != (then.value, then.problem and then.text)


def _setting(field: Field, raw: object, source: Source, origin: str) -> Setting:
    if raw == "":  # an empty text unsets, in a form, a file and a variable alike
        raw = None
    raw, secret = (raw, False) if source is Source.DEFAULT else _without_secret(field, raw)
    template = field.template and source is Source.DEFAULT and isinstance(raw, str)
    value, problem = (raw, "") if template else values.parse(field, raw, source is Source.ENVIRONMENT)
    if field.type == "list" and value == ():  # no items are no value
        value = raw = None
    if raw is None and field.required:
        problem = t("{key} is needed; {example} would work.", key=field.key, example=values.example(field))
    text = raw if isinstance(raw, str) else values.show(field, value if value is not None else raw)
    if problem and value is None and isinstance(raw, (list, tuple, float)) and field.type not in wordlist.TYPES:
        text = values.typed(raw)  # with its brackets: its one item alone would be another value, and right
    if field.type in wordlist.FREE:  # what was typed may hold a secret
        text = values.show(field, value) if value is not None else wordlist.without_secrets(text)
        secret = bool(problem and "…" in text)  # the sign of core.secrets
    elif secret:
        problem = t(
            "{key} has a secret in it, which is not kept: let the program read it from its environment.", key=field.key
        )
    return Setting(value, text, source, origin, problem, secret)


def _without_secret(field: Field, raw: Any) -> tuple[Any, bool]:
    """What may be kept of a value, and whether anything had to go: known by the field's flag or variable, or by its look."""
    if raw is None or isinstance(raw, (bool, int, float)) or field.type in wordlist.FREE:  # those look at each word
        return raw, False
    from prl_tui.core import secrets

    named = secrets.is_secret_flag(field.flag) or secrets.is_secret_name(field.env)
    if named and not secrets.is_placeholder(raw):
        return secrets.HIDDEN, True
    if isinstance(raw, (list, tuple)) and all(isinstance(item, str) for item in raw):
        hidden = list(secrets.hidden_words(tuple(raw)))
        return (hidden, True) if hidden != list(raw) else (raw, False)
    if not isinstance(raw, str):  # a table of a file, for a field that takes JSON
        text = json.dumps(raw, ensure_ascii=False, default=str)
        return (secrets.hidden_text(text), True) if secrets.looks_secret(text) else (raw, False)
    hidden_text = secrets.hidden_text(raw)
    return hidden_text, hidden_text != raw


def resolve(recipe: Recipe, preset: str = "") -> RunConfig:
    """The recipe's defaults with a preset over them. KeyError for a preset that it does not have."""
    if preset in recipe.baselines:
        return cast("RunConfig", recipe.baselines[preset])
    settings: dict[str, Setting]
    if preset:
        chosen = recipe.presets[preset].values
        settings = dict(resolve(recipe).settings)
        for key, value in chosen.items():
            settings[key] = _setting(recipe.by_key[key], value, Source.PRESET, preset)
    else:
        settings = {field.key: _setting(field, field.default, Source.DEFAULT, "") for field in recipe.fields}
    recipe.baselines[preset] = RunConfig(recipe, preset, settings)
    return cast("RunConfig", recipe.baselines[preset])


def from_environment(config: RunConfig, environment: Mapping[str, str]) -> RunConfig:
    """The config with the variables that override its fields laid over it; an empty one counts as unset."""
    changes: dict[str, object] = {}
    origins = {}
    for field in config.recipe.fields:
        text = environment.get(field.override, "")
        if text:
            changes[field.key] = text
            origins[field.key] = field.override
    return config.with_values(changes, Source.ENVIRONMENT, origins)


def fill(template: str, config: RunConfig) -> str:
    """A template default with the fields that it names; an unknown name stays as it is."""

    def one(match: re.Match[str]) -> str:
        key = match.group(1)
        return config.text(key) if key in config.settings else match.group(0)

    return PLACE.sub(one, template)


def template_keys(template: str) -> list[str]:
    """The fields that a template names, in order."""
    return PLACE.findall(template)


def find_key(recipe: Recipe, name: str) -> str | None:
    """The field key for what a person typed: the key itself, its flag, its variable, or another case."""
    if name in recipe.by_key or not name:
        return name or None
    for field in recipe.fields:
        if name in {field.flag, field.override, field.env} or name.replace("-", "_") == field.key:
            return field.key
    folded = [field.key for field in recipe.fields if field.key.lower() == name.lower().replace("-", "_")]
    return folded[0] if len(folded) == 1 else None


ALIKE = 0.05
"""Differences of likeness (0 to 1) that say nothing about what was meant: `train` and `eval` are not equally long."""


def nearest_key(recipe: Recipe, name: str) -> str | None:
    """The known key that other versions call so, or that a mistyped one most resembles.

    Of about equally near ones the most usual, as the form has them.
    """
    from prl_tui.core import flag_lives

    if former := flag_lives.key_of(recipe, name):
        return former
    labels = {field.label.en.lower(): field.key for field in reversed(usual(recipe))}
    labelled = labels.get(name.lower().replace("_", " "))
    return labelled or nearest(name, [field.key for field in usual(recipe)], ALIKE)


def nearest_override(recipe: Recipe, name: str) -> str | None:
    """`nearest_key` for the variables that override fields, without the beginning that all of them have."""
    short = {field.override.removeprefix("PRL_"): field.override for field in usual(recipe)}
    near = nearest(name.removeprefix("PRL_"), list(short), ALIKE)
    return short[near] if near else None


def usual(recipe: Recipe) -> list[Field]:
    """The fields, those that few people change last; evaluation comes after training in every recipe."""
    return sorted(recipe.fields, key=lambda field: field.advanced)


def nearest(name: str, known: list[str], alike: float = 0.0) -> str | None:
    """The known word that a mistyped one most resembles, or None; the first of those that are `alike` near."""
    import difflib

    like = difflib.SequenceMatcher(b=name.lower())
    found: list[tuple[float, str]] = []
    for word in known:
        like.set_seq1(word.lower())
        if like.quick_ratio() > CUTOFF and like.ratio() > CUTOFF:
            found.append((like.ratio(), word))
        elif alike and _has_parts(word, name):
            found.append((CUTOFF, word))
    best = max((ratio for ratio, _ in found), default=0.0)
    short = next((word for word in known if _is_short_for(name, word)), None) if alike and best < SURE else None
    if short:
        return short
    return next((word for ratio, word in found if ratio >= best - alike), None)


CUTOFF = 0.6
"""Likeness up to which a word is another one; difflib's own."""


SURE = 0.75
"""Likeness from which a word is meant whatever else has the name as one of its parts."""

SHORT = {"lr": "learning_rate", "bs": "batch_size", "wd": "weight_decay"}
"""What people in the field write for a part of a name."""


def _is_short_for(name: str, word: str) -> bool:
    """`lr` for `learning_rate`, `epochs` for `num_train_epochs`: an abbreviation of its end, or one of its parts."""
    long, short = word.lower(), name.lower()
    return (short in SHORT and long.endswith(SHORT[short])) or (len(short) > 3 and short in long.split("_"))


def _has_parts(word: str, name: str) -> bool:
    """`batch_size` for `per_device_train_batch_size`: every part of the name, two at least, is one of the word."""
    parts = name.lower().replace("-", "_").split("_")
    return len(parts) > 1 and set(parts) <= set(word.lower().split("_"))
